"""From a model's token outputs to what is stored and searched with. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from recalld.model import ChunkVectors, QueryVectors, TokenBits, TokenVectors, Vector

_TINY = 1e-12


def mean_pool(tokens: NDArray[np.float32]) -> Vector:
    """Return the L2-normalised mean of one text's token outputs, shape (tokens, dimension)."""
    mean = tokens.mean(axis=0)
    pooled: Vector = (mean / max(float(np.linalg.norm(mean)), _TINY)).astype(np.float32)
    return pooled


def unit_rows(tokens: NDArray[np.float32]) -> TokenVectors:
    """Return each token output at length 1."""
    norms = np.linalg.norm(tokens, axis=1, keepdims=True)
    rows: TokenVectors = (tokens / np.maximum(norms, _TINY)).astype(np.float32)
    return rows


def signs(tokens: NDArray[np.float32]) -> TokenBits:
    """Return one bit a dimension: whether it is positive."""
    return np.packbits(tokens > 0, axis=1)


def chunk_vectors(tokens: NDArray[np.float32]) -> ChunkVectors:
    """Return what is stored of a passage."""
    return ChunkVectors(mean_pool(tokens), signs(tokens))


def query_vectors(tokens: NDArray[np.float32], special: int = 0) -> QueryVectors:
    """Return what a query is searched with. ``special`` tokens at each end count for the mean, but match nothing."""
    return QueryVectors(mean_pool(tokens), unit_rows(tokens[special : len(tokens) - special]))


def batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield indices in batches of similar length, each of at most ``budget`` tokens with padding (or one text)."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: (lengths[i], i)):
        if batch and lengths[index] * (len(batch) + 1) > budget:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
