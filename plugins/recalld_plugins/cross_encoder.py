"""Reranking by a cross-encoder: question and passage read together, by a model that fastembed knows or one of yours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from anyio import to_thread
from fastembed.common.model_description import ModelSource
from fastembed.rerank.cross_encoder import TextCrossEncoder

from recalld.errors import ConfigError, DependencyError, RerankError
from recalld.model import QueryVectors
from recalld.recall.ports import Ranking
from recalld.recall.rerank import Texts
from recalld_plugins.options import check_options

OPTIONS = ("model", "path", "file", "threads", "batch")
DEFAULT = "Xenova/ms-marco-MiniLM-L-6-v2"


class CrossEncoder:
    """Scores candidates by their texts; the scores are logits, of use for order alone."""

    name = "cross_encoder"

    def __init__(self, model: TextCrossEncoder, texts: Texts, batch: int) -> None:
        self._model = model
        self._texts = texts
        self._batch = batch

    async def rerank(self, query: str, vectors: QueryVectors, candidates: Sequence[int]) -> Ranking | None:
        """Return the candidates whose texts are still there, best first. Raises RerankError."""
        texts = await self._texts(candidates)
        found = [chunk for chunk in candidates if chunk in texts]
        if not found:
            return None
        scores = await to_thread.run_sync(
            self._scores, query, [texts[chunk] for chunk in found], abandon_on_cancel=True
        )
        return sorted(zip(found, scores, strict=True), key=lambda entry: -entry[1])

    def _scores(self, query: str, texts: Sequence[str]) -> list[float]:
        try:
            return [float(score) for score in self._model.rerank(query, texts, batch_size=self._batch)]
        except Exception as error:
            raise RerankError(f"the cross-encoder failed: {type(error).__name__}: {error}") from error


def reranker(options: Mapping[str, Any], cache_dir: Path, texts: Texts) -> CrossEncoder:
    """Return a reranker; ``options`` are ``recall.reranker_options``. Blocking.

    ``model``: a name that fastembed knows; or ``path``: a folder with ``file`` (model.onnx), tokenizer.json and
    tokenizer_config.json. ``threads`` (0: one a core), ``batch`` (16). Raises ConfigError, DependencyError.
    """
    check_options("cross_encoder", options, OPTIONS, "recall.reranker_options")
    name, path = str(options.get("model", DEFAULT)), options.get("path")
    folder: dict[str, Any] = {}
    if path is not None:
        name = _register(Path(str(path)), str(options.get("file", "model.onnx")))
        folder = {"specific_model_path": str(path)}
    threads = int(options.get("threads", 0)) or None
    try:
        model = TextCrossEncoder(name, cache_dir=str(cache_dir), threads=threads, **folder)
    except ValueError as error:
        raise ConfigError(
            f"recall.reranker_options: {error}", suggestion="name a model that fastembed knows, or a folder with `path`"
        ) from error
    except Exception as error:
        raise DependencyError(
            f"the cross-encoder {path or name} cannot be loaded: {error}", suggestion="check the folder, or the network"
        ) from error
    return CrossEncoder(model, texts, int(options.get("batch", 16)))


def _register(path: Path, file: str) -> str:
    """Make a folder known to fastembed; return the name that it has there."""
    if not (path / file).is_file():
        raise ConfigError(
            f"recall.reranker_options: there is no {path / file}",
            suggestion="export the model to ONNX into it",
        )
    name = f"local/{path.resolve()}/{file}"
    if name.lower() not in (str(known["model"]).lower() for known in TextCrossEncoder.list_supported_models()):
        TextCrossEncoder.add_custom_model(model=name, sources=ModelSource(hf="local"), model_file=file)
    return name
