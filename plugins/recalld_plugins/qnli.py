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
from anyio import CapacityLimiter
from numpy.typing import NDArray
from tokenizers import Tokenizer

from recalld.errors import ConfigError, DependencyError
from recalld_plugins.options import check_options
from recalld_plugins.parts import in_parts

OPTIONS = ("path", "file", "label", "max_tokens", "threads")


class Qnli:
    """Gives each passage the probability that it answers."""

    name = "qnli"

    def __init__(self, session: ort.InferenceSession, tokenizer: Tokenizer, label: int) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._label = label
        self._inputs = {node.name for node in session.get_inputs()}
        self._threads = CapacityLimiter(1)

    async def judge(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return a probability for each text, in order. Raises DependencyError when the model fails.

        One text at a time: nothing is padded, and so the model's pad token need not be known.
        """
        return await in_parts(lambda part: [self.chance(query, text) for text in part], texts, 1, self._threads)

    def chance(self, query: str, text: str) -> float:
        """Return the probability that a text answers. Blocking; raises DependencyError when the model fails."""
        try:
            encoded = self._tokenizer.encode(query, text)
            fed = {
                "input_ids": np.array([encoded.ids], np.int64),
                "attention_mask": np.array([encoded.attention_mask], np.int64),
                "token_type_ids": np.array([encoded.type_ids], np.int64),
            }
            [logits, *_] = self._session.run(None, {name: fed[name] for name in self._inputs})
        except Exception as error:
            raise DependencyError(f"the entailment model failed: {type(error).__name__}: {error}") from error
        return probability(np.asarray(logits, np.float64), self._label)


def probability(logits: NDArray[np.float64], label: int) -> float:
    """Return the probability of ``label`` by the logits of one text: a sigmoid of one, a softmax of several.

    Raises DependencyError for any other shape than (1, classes).
    """
    if logits.ndim != 2 or logits.shape[0] != 1 or not 0 <= label < logits.shape[1]:
        raise DependencyError(f"the entailment model gave logits of shape {logits.shape} and has no label {label}")
    if logits.shape[1] == 1:
        return float(np.exp(-np.logaddexp(0, -logits[0, 0])))
    shifted = np.exp(logits[0] - logits[0].max())
    return float(shifted[label] / shifted.sum())


def entailment(options: Mapping[str, Any]) -> Qnli:
    """Return the judge; ``options`` are ``trust.entailment_options``. Blocking.

    ``path``: a folder with ``file`` (model.onnx) and tokenizer.json. ``label`` (0): the class that means "answers", of
    one logit or several. ``max_tokens`` (512): of question and passage together. ``threads`` (0: one a core). Raises
    ConfigError, also for a model that fails on a first pair of texts.
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
        raise ConfigError(
            f"the entailment model {folder} cannot be loaded: {error}", suggestion="export it to ONNX again"
        ) from error
    unknown = {node.name for node in session.get_inputs()} - {"input_ids", "attention_mask", "token_type_ids"}
    if unknown:
        raise ConfigError(f"the entailment model wants {', '.join(sorted(unknown))}, which are not known here")
    # The longer text is cut: a question of any length leaves room for some of the passage.
    tokenizer.enable_truncation(int(options.get("max_tokens", 512)), strategy="longest_first")
    tokenizer.no_padding()
    judge = Qnli(session, tokenizer, int(options.get("label", 0)))
    try:
        judge.chance("question", "passage")
    except DependencyError as error:
        raise ConfigError(
            f"the entailment model {model} cannot be used: {error.message}", suggestion="see trust.entailment_options"
        ) from error
    return judge
