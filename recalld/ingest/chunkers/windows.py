"""Policies ``sentences`` and ``fixed``: windows of a given size that overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recalld.ingest.chunkers.meter import Meter
from recalld.ingest.chunkers.passage import Passage, passage
from recalld.ingest.chunkers.spans import pieces, within
from recalld.ingest.chunkers.units import Cut, Unit, divide_until_fit
from recalld.ingest.outline import BlockKind, Lines, Outline

FIXED_CHARS = 48
"""How finely the fixed policy measures, in characters."""
COARSE_CHARS = 3
"""Code and tables of up to this many characters a budgeted token stay whole under the sentence policy."""


def sentences(lines: Lines, outline: Outline, budget: int, overlap: int, meter: Meter) -> list[Passage]:
    """Return windows of whole sentences, lines of code and table rows."""
    return _windows(
        divide_until_fit(lines.text, list(_sentence_units(lines, outline, budget)), budget, meter), budget, overlap
    )


def fixed(lines: Lines, outline: Outline, budget: int, overlap: int, meter: Meter) -> list[Passage]:
    """Return windows of whole words, whatever the structure."""
    units = [
        Unit(start, end, section, block, Cut.ANYWHERE)
        for section in outline.sections
        for block in section.blocks
        for start, end in within(lines.text, lines.start(block.first), lines.end(block.last), FIXED_CHARS)
    ]
    return _windows(divide_until_fit(lines.text, units, budget, meter), budget, overlap)


def _sentence_units(lines: Lines, outline: Outline, budget: int) -> Iterator[Unit]:
    for section in outline.sections:
        for block in section.blocks:
            start, end = lines.start(block.first), lines.end(block.last)
            if block.kind in (BlockKind.PROSE, BlockKind.LIST, BlockKind.HEADING):
                spans = list(pieces(lines.text, start, end, budget * COARSE_CHARS))
            elif end - start <= budget * COARSE_CHARS:
                spans = [(start, end)]
            else:
                numbers = range(block.first, block.last + 1)
                spans = [(lines.start(n), lines.end(n)) for n in numbers if not lines.blank(n)]
            for first, last in spans:
                yield Unit(first, last, section, block, Cut.SENTENCE)


def _windows(units: Sequence[Unit], budget: int, overlap: int) -> list[Passage]:
    passages: list[Passage] = []
    at = 0
    while at < len(units):
        behind, size = at, 0
        while behind < len(units) and (behind == at or size + units[behind].tokens <= budget):
            size += units[behind].tokens
            behind += 1
        passages.append(passage(units[at:behind], units[at - 1].block if at else None))
        if behind == len(units):
            break
        at = _back(units, at, behind, overlap)
    return passages


def _back(units: Sequence[Unit], at: int, behind: int, overlap: int) -> int:
    """Return where the next window begins: up to ``overlap`` tokens before the last one's end, always further on."""
    size, start = 0, behind
    while start - 1 > at and size + units[start - 1].tokens <= overlap:
        start -= 1
        size += units[start].tokens
    return start
