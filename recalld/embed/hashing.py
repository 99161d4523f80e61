"""An embedder without a model: words hashed to directions. For tests, and as a last resort that is announced."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from recalld.embed.pooling import chunk_vectors, query_vectors
from recalld.model import ChunkVectors, QueryVectors, Vector

_WORD = re.compile(r"\w+|[^\w\s]")
_SPECIAL = 2


class HashingEmbedder:
    """Gives each word a direction of its own: texts are close when they share words, and for no other reason."""

    name = "hashing"
    fingerprint = "hashing-256-v1"
    dimension = 256
    token_limit = 512

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the words and signs of each text, and two."""
        return [len(_WORD.findall(text)) + _SPECIAL for text in texts]

    async def embed_documents(self, texts: Sequence[str]) -> list[ChunkVectors]:
        """Embed passages. Raises ValueError for one beyond the token limit."""
        if any(count > self.token_limit for count in self.count_tokens(texts)):
            raise ValueError(f"a passage is over {self.token_limit} tokens")
        return [chunk_vectors(_tokens(text)) for text in texts]

    async def embed_query(self, text: str) -> QueryVectors:
        """Embed a query."""
        return query_vectors(_tokens(text)[: self.token_limit])

    async def aclose(self) -> None:
        """There is nothing to release."""


def _tokens(text: str) -> np.ndarray:
    words = _WORD.findall(text.casefold()) or [""]
    return np.stack([_direction(word) for word in words])


@lru_cache(maxsize=20_000)
def _direction(word: str) -> Vector:
    seed = int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
    return np.random.default_rng(seed).standard_normal(HashingEmbedder.dimension).astype(np.float32)
