"""Room in a table: which column is how wide, and what is cut where there is too little."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

LEAST = 8
"""Columns of the screen that an elastic column keeps, where it has that much to show, before fixed ones give way."""


@dataclass(frozen=True, slots=True)
class Elastic:
    """A column that is cut where there is too little room; ``tail`` where its end tells more than its beginning."""

    title: str
    tail: bool = False


Column = str | Elastic
"""A title alone is a fixed column: as wide as what stands in it."""


def shared(wanted: Sequence[int], elastic: Sequence[bool], room: int) -> list[int]:
    """Return how wide each column is that wants a width (columns of the screen), never more than ``room`` together.

    Fixed columns have what they want and elastic ones share the rest; only where that would leave elastic ones
    less than ``LEAST`` do the fixed ones give way too, the widest first.
    """
    kept = sum(min(want, LEAST) for want, soft in zip(wanted, elastic, strict=True) if soft)
    fixed = levelled([0 if soft else want for want, soft in zip(wanted, elastic, strict=True)], room - kept)
    rest = levelled([want if soft else 0 for want, soft in zip(wanted, elastic, strict=True)], room - sum(fixed))
    return [one + other for one, other in zip(fixed, rest, strict=True)]


def levelled(wanted: Sequence[int], room: int) -> list[int]:
    """Return widths of at most ``room`` together, none above what it wants; what one spares goes to the others."""
    widths = [0] * len(wanted)
    left = max(0, room)
    for place, index in enumerate(sorted(range(len(wanted)), key=lambda index: wanted[index])):
        widths[index] = min(wanted[index], left // (len(wanted) - place))
        left -= widths[index]
    return widths


def fitted(text: Text, width: int, *, tail: bool = False) -> Text:
    """Return a line of at most ``width`` columns of the screen, with an ellipsis where something is missing."""
    if text.cell_len <= width:
        return text
    if not tail:
        shorter = text.copy()
        shorter.truncate(width, overflow="ellipsis")
        return shorter
    begin = len(text) - max(0, width - 1)
    while text[begin:].cell_len > width - 1 and begin < len(text):
        begin += 1
    return Text("…" if width > 0 else "", text.style).append_text(text[begin:])
