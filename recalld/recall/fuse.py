"""Reciprocal rank fusion: one ranking out of several whose scores cannot be compared."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

from recalld.recall.ports import Ranking


def fuse(rankings: Sequence[Ranking], k: int = 60) -> list[tuple[int, float]]:
    """Return every chunk of ``rankings`` scored by the sum of ``1 / (k + rank)``, best first.

    Ranks are 1-based. A ranking that does not hold a chunk adds nothing to it. Equal scores are ordered by the best
    rank that the chunk has anywhere, then by id, so that the same rankings always fuse to the same result,
    in whichever order they are given.
    """
    ranks: dict[int, list[int]] = {}
    for ranking in rankings:
        for rank, (chunk, _) in enumerate(ranking, start=1):
            ranks.setdefault(chunk, []).append(rank)
    scored = [(chunk, fsum(1.0 / (k + rank) for rank in found), min(found)) for chunk, found in ranks.items()]
    scored.sort(key=lambda entry: (-entry[1], entry[2], entry[0]))
    return [(chunk, score) for chunk, score, _ in scored]


def shortlist(fused: Ranking, rankings: Sequence[Ranking], size: int, reserve: int) -> list[int]:
    """Return at most ``size`` chunks for the next stage: the best fused, always with the top ``reserve`` of each leg.

    Fusion prefers what every leg found; without the reserve a chunk that one leg puts first and the other does not
    know can fall out behind dozens that both legs find mediocre.
    """
    reserve = min(reserve, size // max(1, len(rankings)))
    kept = dict.fromkeys(chunk for ranking in rankings for chunk, _ in ranking[:reserve])
    for chunk, _ in fused:
        if len(kept) >= size:
            break
        kept[chunk] = None
    order = {chunk: position for position, (chunk, _) in enumerate(fused)}
    return sorted(kept, key=order.__getitem__)
