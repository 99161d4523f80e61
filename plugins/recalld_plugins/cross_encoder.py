"""Reranking by a cross-encoder: question and passage read together, by a model that fastembed knows or one of yours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter
from fastembed.common.model_description import ModelSource
from fastembed.rerank.cross_encoder import TextCrossEncoder

from recalld.errors import ConfigError, DependencyError
from recalld.model import QueryVectors
from recalld.recall.ports import Ranking
from recalld.recall.rerank import Texts
from recalld_plugins.options import check_options
from recalld_plugins.parts import in_parts

OPTIONS = ("model", "path", "file", "threads", "batch", "local_files_only")
DEFAULT = "Xenova/ms-marco-MiniLM-L-6-v2"


class CrossEncoder:
    """Scores candidates by their texts; the scores are logits, of use for order alone."""

    name = "cross_encoder"

    def __init__(self, model: TextCrossEncoder, texts: Texts, batch: int) -> None:
        self._model = model
        self._texts = texts
        self._batch = batch
        self._threads = CapacityLimiter(1)

    async def rerank(self, query: str, vectors: QueryVectors, candidates: Sequence[int]) -> Ranking | None:
        """Return the candidates whose texts are still there, best first. Raises DependencyError."""
        texts = await self._texts(candidates)
        found = [chunk for chunk in candidates if chunk in texts]
        if not found:
            return None
        passages = [texts[chunk] for chunk in found]
        scores = await in_parts(lambda part: self._scores(query, part), passages, self._batch, self._threads)
        return sorted(zip(found, scores, strict=True), key=lambda entry: -entry[1])

    def _scores(self, query: str, texts: Sequence[str]) -> list[float]:
        try:
            return [float(score) for score in self._model.rerank(query, texts, batch_size=self._batch)]
        except Exception as error:
            raise DependencyError(f"the cross-encoder failed: {type(error).__name__}: {error}") from error


def reranker(options: Mapping[str, Any], cache_dir: Path, texts: Texts) -> CrossEncoder:
    """Return a reranker; ``options`` are ``recall.reranker_options``. Blocking.

    ``model``: a name that fastembed knows, downloaded unless ``local_files_only``; or ``path``: a folder with ``file``
    (model.onnx), tokenizer.json and tokenizer_config.json. ``threads`` (0: one a core), ``batch`` (16). Raises
    ConfigError for what no retry helps, DependencyError for a model that cannot be downloaded now.
    """
    check_options("cross_encoder", options, OPTIONS, "recall.reranker_options")
    threads, batch = int(options.get("threads", 0)) or None, int(options.get("batch", 16))
    if batch < 1:
        raise ConfigError("recall.reranker_options.batch must be 1 or more")
    if "path" in options:
        model = _of_folder(Path(str(options["path"])), str(options.get("file", "model.onnx")), threads)
    else:
        local = bool(options.get("local_files_only", False))
        model = _by_name(str(options.get("model", DEFAULT)), cache_dir / "fastembed", threads, local)
    return CrossEncoder(model, texts, batch)


def _by_name(name: str, cache_dir: Path, threads: int | None, local_files_only: bool) -> TextCrossEncoder:
    known = sorted(str(model["model"]) for model in TextCrossEncoder.list_supported_models())
    if name.lower() not in {model.lower() for model in known}:
        raise ConfigError(
            f"recall.reranker_options.model {name!r} is not known to fastembed", suggestion=f"one of {', '.join(known)}"
        )
    try:
        return TextCrossEncoder(name, cache_dir=str(cache_dir), threads=threads, local_files_only=local_files_only)
    except Exception as error:
        raise DependencyError(
            f"the cross-encoder {name} cannot be loaded: {error}",
            suggestion="check the way to the model hub, or name a folder with recall.reranker_options.path",
        ) from error


def _of_folder(path: Path, file: str, threads: int | None) -> TextCrossEncoder:
    """Load a folder, and try it on a pair of texts: a model with another output is none to rerank with."""
    name = _register(path, file)
    try:
        model = TextCrossEncoder(name, threads=threads, specific_model_path=str(path))
        list(model.rerank("question", ["passage", "another"]))
    except Exception as error:
        raise ConfigError(
            f"the cross-encoder {path / file} cannot be loaded: {type(error).__name__}: {error}",
            suggestion="export a cross-encoder and its tokenizer to ONNX into that folder; see docs/judges.md",
        ) from error
    return model


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
