"""Packs units into passages of about equal size that end where a reader would pause."""

from __future__ import annotations

from collections.abc import Sequence

from recalld.ingest.chunkers.units import Cut, Unit

_WORTH = {Cut.BELOW_HEADING: -0.6, Cut.ANYWHERE: 0.0, Cut.SENTENCE: 0.15, Cut.GAP: 0.3, Cut.ITEM: 0.3, Cut.BLOCK: 0.5}
"""What a good place is worth against hitting the aimed size exactly, as a share of that size."""
LEAST_SHARE = 0.5
"""No passage is cut below this share of the aimed size for the sake of a good place."""


def packed(units: Sequence[Unit], budget: int) -> list[tuple[int, int]]:
    """Return index ranges (first, behind) of units, each within the budget as far as single units allow."""
    sums = [0]
    for unit in units:
        sums.append(sums[-1] + unit.tokens)
    ranges: list[tuple[int, int]] = []
    at = 0
    while at < len(units):
        behind = _end(units, sums, at, budget)
        ranges.append((at, behind))
        at = behind
    return ranges


def _end(units: Sequence[Unit], sums: Sequence[int], at: int, budget: int) -> int:
    remaining = sums[-1] - sums[at]
    if remaining <= budget:
        return len(units)
    aim = remaining / -(-remaining // budget)
    best, best_score, allowed, last = 0, float("-inf"), 0, at + 1
    for cut in range(at + 1, len(units)):
        size = sums[cut] - sums[at]
        if size > budget:
            break
        last = cut
        if units[cut].cut is Cut.NEVER:
            continue
        allowed = cut
        score = _WORTH[units[cut].cut] - abs(size - aim) / aim
        if size >= aim * LEAST_SHARE and score > best_score:
            best, best_score = cut, score
    return best or allowed or last
