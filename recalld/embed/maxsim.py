"""Late interaction: how well each token of a query is matched by some token of a passage.

After Khattab and Zaharia, "ColBERT" (2020), with the passage's token vectors kept as signs only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recalld.model import TokenBits, TokenVectors

_BLOCK = 128
"""Tokens unpacked at a time: as numbers they take 32 times the room, and so they stay in the processor's cache."""


def maxsim(query: TokenVectors, passages: Sequence[TokenBits]) -> NDArray[np.float32]:
    """Return for each passage the mean over the query's tokens of the best cosine with one of its tokens.

    ``query`` has unit rows, shape (tokens, dimension); a passage's token is the corner of a cube that its signs
    point to. Scores lie in [-1, 1]. A passage without tokens scores -1.
    """
    scores = np.full(len(passages), -1.0, np.float32)
    filled = [number for number, bits in enumerate(passages) if len(bits)]
    if not filled or not len(query):
        return scores
    dimension = query.shape[1]
    bits = np.concatenate([passages[number] for number in filled])
    # With s = 2 b - 1 the product q.s is 2 q.b - sum(q): the signs need not be made.
    products = 2.0 * _bits_times(bits, query) - query.sum(axis=1)
    starts = np.cumsum([0, *(len(passages[number]) for number in filled[:-1])])
    best = np.maximum.reduceat(products, starts, axis=0)
    scores[filled] = best.mean(axis=1) / np.sqrt(dimension)
    return scores


def _bits_times(bits: TokenBits, query: TokenVectors) -> NDArray[np.float32]:
    """Return the products of bits, shape (rows, dimension), with each row of ``query``."""
    made = np.empty((len(bits), len(query)), np.float32)
    for start in range(0, len(bits), _BLOCK):
        block = np.unpackbits(bits[start : start + _BLOCK], axis=1, count=query.shape[1])
        made[start : start + _BLOCK] = block.astype(np.float32) @ query.T
    return made
