"""Whether a passage answers a question at all: a sequence classifier, run with ONNX Runtime from a folder of yours.

Made for question-answering inference (QNLI of the GLUE benchmark), for example
``cross-encoder/qnli-distilroberta-base`` exported to ONNX; any model that takes a pair of texts and has a class for
"answers" will do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from anyio import to_thread
from numpy.typing import NDArray
from tokenizers import Tokenizer

from recalld.errors import ConfigError, DependencyError
from recalld_plugins.options import check_options

OPTIONS = ("path", "file", "label", "max_tokens", "threads")


class Qnli:
    """Gives each passage the probability that it answers."""

    name = "qnli"

    def __init__(self, session: ort.InferenceSession, tokenizer: Tokenizer, label: int) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._label = label
        self._inputs = {node.name for node in session.get_inputs()}

    async def judge(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return a probability for each text, in order. Raises DependencyError when the model fails."""
        return await to_thread.run_sync(self._judge, query, list(texts), abandon_on_cancel=True)

    def _judge(self, query: str, texts: list[str]) -> list[float]:
        encoded = self._tokenizer.encode_batch([(query, text) for text in texts])
        fed = {
            "input_ids": np.array([one.ids for one in encoded], np.int64),
            "attention_mask": np.array([one.attention_mask for one in encoded], np.int64),
            "token_type_ids": np.array([one.type_ids for one in encoded], np.int64),
        }
        try:
            [logits, *_] = self._session.run(None, {name: fed[name] for name in self._inputs})
        except Exception as error:
            raise DependencyError(f"the entailment model failed: {type(error).__name__}: {error}") from error
        return probabilities(np.asarray(logits, np.float64), len(texts), self._label)


def probabilities(logits: NDArray[np.float64], count: int, label: int) -> list[float]:
    """Return the probability of ``label`` for each row: a sigmoid of one logit, a softmax of several.

    Raises DependencyError for any other shape than (count, classes).
    """
    if logits.ndim != 2 or logits.shape[0] != count or not 0 <= label < logits.shape[1]:
        raise DependencyError(
            f"the entailment model gave logits of shape {logits.shape} for {count} passages and label {label}",
            suggestion="see the options of qnli",
        )
    if logits.shape[1] == 1:
        return [float(1 / (1 + np.exp(-value))) for value in logits[:, 0]]
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return [float(value) for value in shifted[:, label] / shifted.sum(axis=1)]


def entailment(options: Mapping[str, Any]) -> Qnli:
    """Return the judge; ``options`` are ``trust.entailment_options``. Blocking.

    ``path``: a folder with ``file`` (model.onnx) and tokenizer.json. ``label`` (0): the class that means "answers", of
    one logit or several. ``max_tokens`` (512): of question and passage together. ``threads`` (0: one a core). Raises
    ConfigError, DependencyError.
    """
    check_options("qnli", options, OPTIONS, "trust.entailment_options")
    if "path" not in options:
        raise ConfigError("trust.entailment_options: qnli needs a path", suggestion="name the folder of the model")
    folder = Path(str(options["path"]))
    model, words = folder / str(options.get("file", "model.onnx")), folder / "tokenizer.json"
    for file in (model, words):
        if not file.is_file():
            raise ConfigError(f"trust.entailment_options: there is no {file}", suggestion="export the model to ONNX")
    settings = ort.SessionOptions()
    settings.intra_op_num_threads = int(options.get("threads", 0))
    try:
        session = ort.InferenceSession(str(model), settings, providers=["CPUExecutionProvider"])
        tokenizer = Tokenizer.from_file(str(words))
    except Exception as error:
        raise DependencyError(f"the entailment model {folder} cannot be loaded: {error}") from error
    tokenizer.enable_truncation(int(options.get("max_tokens", 512)), strategy="only_second")
    tokenizer.enable_padding()
    unknown = {node.name for node in session.get_inputs()} - {"input_ids", "attention_mask", "token_type_ids"}
    if unknown:
        raise ConfigError(f"the entailment model wants {', '.join(sorted(unknown))}, which are not known here")
    return Qnli(session, tokenizer, int(options.get("label", 0)))
