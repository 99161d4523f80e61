"""Metrics of shown text against the characters that answer: recall, precision and IoU.

Characters are counted once however often they are shown, as in Chroma's evaluation of chunking (Smith and Troynikov,
2024): recall is the share of the answer that is shown, precision the share of what is shown that answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

Span = tuple[int, int]
"""First character, and the one after the last."""
Places = Mapping[str, Sequence[Span]]
"""Spans by document."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """What shown text has of an answer, each a share from 0 to 1."""

    recall: float
    precision: float
    iou: float


def overlap(shown: Places, wanted: Places) -> Overlap:
    """Compare what is shown with what is wanted (at least one character)."""
    common = sum(_common(merged(shown.get(path, ())), merged(spans)) for path, spans in wanted.items())
    seen, asked = _size(shown), _size(wanted)
    return Overlap(common / asked, common / seen if seen else 0.0, common / (seen + asked - common))


def merged(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order, with those that touch made one."""
    made: list[Span] = []
    for start, end in sorted(spans):
        if made and start <= made[-1][1]:
            made[-1] = (made[-1][0], max(end, made[-1][1]))
        else:
            made.append((start, end))
    return made


def _size(places: Places) -> int:
    return sum(end - start for spans in places.values() for start, end in merged(spans))


def _common(first: Sequence[Span], second: Sequence[Span]) -> int:
    """Return how many characters two lists of disjoint spans share."""
    return sum(max(0, min(a[1], b[1]) - max(a[0], b[0])) for a in first for b in second)
