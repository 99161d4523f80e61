"""Any model that fastembed knows, by its name. It is downloaded from a model hub the first time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from anyio import CapacityLimiter, to_thread

from recalld.errors import ConfigError, DependencyError
from recalld.model import ChunkVectors, QueryVectors

_BATCH = 64


def on_disk(cache_dir: Path) -> list[str]:
    """Return the models that were downloaded, by their names."""
    from fastembed import TextEmbedding

    cache = cache_dir / "fastembed"
    return [
        model["model"]
        for model in TextEmbedding.list_supported_models()
        if (source := model["sources"].get("hf")) and (cache / f"models--{source.replace('/', '--')}").is_dir()
    ]


class FastembedModel:
    """A fastembed model, pooled vectors only: searches with it are not reranked by late interaction."""

    def __init__(self, name: str, model: Any) -> None:
        self.name = name
        self._model = model
        description = model.model.model_description
        self.dimension = int(description.dim)
        self.fingerprint = f"fastembed-{description.model}-{description.sources.hf or description.sources.url}"
        tokenizer = model.model.tokenizer
        self.token_limit = int((tokenizer.truncation or {}).get("max_length", 512))
        # Counting needs the tokens beyond the limit, too; the model's own tokenizer goes on cutting.
        self._counter = type(tokenizer).from_str(tokenizer.to_str())
        self._counter.no_truncation()
        self._counter.no_padding()
        self._bulk_threads = CapacityLimiter(1)
        self._query_threads = CapacityLimiter(1)

    @classmethod
    async def load(cls, name: str, threads: int, cache_dir: Path, local_files_only: bool) -> FastembedModel:
        """Load a model by name. Raises ConfigError for an unknown name, DependencyError when it cannot be had."""

        def load() -> FastembedModel:
            from fastembed import TextEmbedding

            known = sorted(model["model"] for model in TextEmbedding.list_supported_models())
            if name.lower() not in {model.lower() for model in known}:
                raise ConfigError(
                    f"embed.model {name!r} is neither built in, nor a plugin, nor known to fastembed",
                    suggestion=f"minilm, hashing, openai, voyage, or one of {', '.join(known[:4])}, ...",
                )
            made = TextEmbedding(
                name,
                cache_dir=str(cache_dir / "fastembed"),
                threads=threads or None,
                local_files_only=local_files_only,
            )
            return cls(name, made)

        try:
            return await to_thread.run_sync(load)
        except (OSError, ValueError, RuntimeError) as error:
            raise DependencyError(
                f"{name} cannot be loaded: {str(error).splitlines()[0] if str(error) else type(error).__name__}",
                suggestion="check the way to the model hub, or set embed.model=minilm, which needs none",
            ) from error

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text."""
        return [len(encoding) for encoding in self._counter.encode_batch(list(texts))]

    async def embed_documents(self, texts: Sequence[str]) -> list[ChunkVectors]:
        """Embed passages. Raises ValueError for one beyond the token limit."""
        if max(self.count_tokens(texts), default=0) > self.token_limit:
            raise ValueError(f"a passage is over {self.token_limit} tokens")
        rows = await to_thread.run_sync(
            lambda: list(self._model.passage_embed(list(texts), batch_size=_BATCH)), limiter=self._bulk_threads
        )
        return [ChunkVectors(_unit(row), None) for row in rows]

    async def embed_query(self, text: str) -> QueryVectors:
        """Embed a query with the model's own prefix for queries."""
        rows = await to_thread.run_sync(lambda: list(self._model.query_embed([text])), limiter=self._query_threads)
        return QueryVectors(_unit(rows[0]), None)

    async def aclose(self) -> None:
        """Sessions are released with this object."""


def _unit(row: np.ndarray) -> np.ndarray:
    return (row / max(float(np.linalg.norm(row)), 1e-12)).astype(np.float32)
