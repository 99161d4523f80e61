"""The last ranking: the reranker's opinion, with what the legs thought mixed in.

Late interaction reads passages closer than either leg, but knows no rare words and no gist of the whole. Measured on
three public question sets (``tests/bench/bench_quality.py``), half of each leg's weight beside it is better on all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recalld.recall.ports import Ranking

Scores = Mapping[int, float]
"""Scores by chunk id, on a scale of their own."""


def blend(reranked: Ranking, legs: Sequence[Scores], weight: float) -> list[tuple[int, float]]:
    """Return the chunks of ``reranked``, best first, by its score and ``weight`` times each leg's.

    Each counts from 0, the worst of these chunks, to 1, the best; so does the sum, which is 1 for a chunk that all
    put first. A chunk that a leg did not find is as bad there as the worst that it found.
    """
    chunks = [chunk for chunk, _ in reranked]
    total = _spread(chunks, dict(reranked))
    for leg in legs:
        for chunk, part in _spread(chunks, leg).items():
            total[chunk] += weight * part
    whole = 1 + weight * len(legs)
    return sorted(((chunk, total[chunk] / whole) for chunk in chunks), key=lambda entry: -entry[1])


def _spread(chunks: Sequence[int], scores: Scores) -> dict[int, float]:
    """Scale scores so that the worst of ``chunks`` is 0 and the best 1; all are 0 when none is better than another."""
    least = min(scores.values(), default=0.0)
    given = {chunk: scores.get(chunk, least) for chunk in chunks}
    low, high = min(given.values(), default=0.0), max(given.values(), default=0.0)
    return {chunk: (score - low) / (high - low) if high > low else 0.0 for chunk, score in given.items()}
