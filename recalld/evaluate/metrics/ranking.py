"""Metrics of one ranking with binary relevance, as trec_eval defines them; duplicates must have been taken out.

Each takes the ranked items best first, those that are relevant (at least one), and where it looks at the top alone, k.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from math import log2


def precision_at(ranking: Sequence[Hashable], relevant: Collection[Hashable], k: int) -> float:
    """Return the share of the first k places that hold something relevant; an empty place counts as wrong."""
    return sum(item in relevant for item in ranking[:k]) / k


def recall_at(ranking: Sequence[Hashable], relevant: Collection[Hashable], k: int) -> float:
    """Return the share of what is relevant that stands in the first k places."""
    return sum(item in relevant for item in ranking[:k]) / len(relevant)


def hit_at(ranking: Sequence[Hashable], relevant: Collection[Hashable], k: int) -> float:
    """Return 1 where anything relevant stands in the first k places, else 0 (trec_eval: success)."""
    return float(any(item in relevant for item in ranking[:k]))


def reciprocal_rank(ranking: Sequence[Hashable], relevant: Collection[Hashable]) -> float:
    """Return 1 / rank of the first that is relevant, 0 where none is."""
    return next((1 / rank for rank, item in enumerate(ranking, start=1) if item in relevant), 0.0)


def ndcg_at(ranking: Sequence[Hashable], relevant: Collection[Hashable], k: int) -> float:
    """Return the discounted gain of the first k places as a share of the best possible (Jaervelin and Kekaelaeinen)."""
    gain = sum(1 / log2(rank + 1) for rank, item in enumerate(ranking[:k], start=1) if item in relevant)
    best = sum(1 / log2(rank + 1) for rank in range(1, min(k, len(relevant)) + 1))
    return gain / best
