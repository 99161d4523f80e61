"""A passage: what a chunker cut, before it is measured as it will be embedded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from recalld.ingest.chunkers.units import Unit
from recalld.ingest.outline import Block, BlockKind


@dataclass(frozen=True, slots=True)
class Passage:
    """Characters ``start`` to ``end`` of a text and the headings they stand under.

    ``context`` is the part of ``heading`` that the passage's own first line does not say; ``caption`` the head of
    the table or definition that the passage continues. ``bare`` leaves all of it out.
    """

    start: int
    end: int
    heading: tuple[str, ...]
    context: tuple[str, ...]
    caption: str = ""
    bare: bool = False


def passage(units: Sequence[Unit], before: Block | None) -> Passage:
    """Join consecutive units. ``before`` is the block that the unit in front of them belongs to."""
    first = units[0]
    told = [unit.section.heading for unit in units if unit.block.kind is not BlockKind.HEADING]
    heading = common(told or [unit.section.heading for unit in units])
    own = first.block.kind is BlockKind.HEADING and first.block is not before
    context = first.section.heading[:-1] if own else heading
    caption = first.block.caption if first.block is before and first.block.kind is not BlockKind.HEADING else ""
    return Passage(first.start, units[-1].end, heading, context, caption)


def common(paths: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the longest path that all paths begin with."""
    found: tuple[str, ...] | None = None
    for path in paths:
        found = path if found is None else found[: _shared(found, path)]
    return found or ()


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
