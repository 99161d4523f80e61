"""A sentence model of one's own: a folder with ``model.onnx`` and its tokenizer, as fine-tuning here writes it.

The file takes ``input_ids``, ``attention_mask`` and ``token_type_ids`` and gives ``last_hidden_state``: what exports of
BERT and its kin take and give. Their mean must be the sentence's vector.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from recalld.embed import runtime
from recalld.embed.sentence_model import SentenceModel, loaded_in_thread, sha256_of
from recalld.errors import ConfigError

FILES = ("model.onnx", "tokenizer.json", "tokenizer_config.json")


def is_folder(model: str) -> bool:
    """Tell whether a model is named by its place: with a slash at the beginning, ``./`` or ``~``."""
    return model.startswith(("/", "./", "../", "~"))


async def load(model: str, kind: str, threads: int, batch_tokens: int, cache_dir: Path) -> SentenceModel:
    """Load a folder. Raises ConfigError where a file is missing, DependencyError where it cannot be run."""

    def loaded() -> SentenceModel:
        folder = _whole(model)
        digest = sha256_of(folder / "model.onnx")
        cache = cache_dir.expanduser() / "models" / f"folder-{digest[:12]}"
        made = runtime.load(kind, folder, threads, cache)
        token = np.ones((1, 1), np.int64)
        dimension = int(made.single(token, token).shape[-1])
        return SentenceModel(str(folder), f"folder-{digest[:12]}", folder, dimension, made, batch_tokens)

    return await loaded_in_thread(loaded, kind, f"the model in {model}")


def _whole(model: str) -> Path:
    folder = Path(model).expanduser().resolve()
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise ConfigError(
            f"embed.model: {folder} has no {' and no '.join(missing)}", suggestion="name a model's folder"
        )
    return folder
