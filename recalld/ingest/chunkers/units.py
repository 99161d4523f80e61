"""The smallest pieces that chunks are packed from, each with its size in tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import pairwise

from recalld.ingest.chunkers.meter import Meter
from recalld.ingest.chunkers.spans import Span, ends_sentence, pieces, smaller
from recalld.ingest.outline import Block, BlockKind, Lines, Section

COARSE_CHARS = 3
"""Blocks of up to this many characters a budgeted token are measured whole, longer ones line by line."""

FINE_CHARS = 64
"""Shorter lines of a long block are measured together, in characters."""


class Cut(IntEnum):
    """How good it is to cut before a unit."""

    NEVER = -2
    BELOW_HEADING = -1
    ANYWHERE = 0
    SENTENCE = 1
    GAP = 2
    ITEM = 3
    BLOCK = 4


@dataclass(slots=True)
class Unit:
    """Characters ``start`` to ``end`` of the text, what they cost, and where they come from."""

    start: int
    end: int
    section: Section
    block: Block
    cut: Cut
    tokens: int = 0


def measured(lines: Lines, sections: Sequence[Section], budget: int, meter: Meter) -> list[Unit]:
    """Return the units of sections. None costs more than ``budget``, unless it is one character."""
    units = [unit for section in sections for block in section.blocks for unit in _units(lines, section, block, budget)]
    units = divide_until_fit(lines.text, units, budget, meter)
    _keep_whole(units, budget)
    return units


def divide_until_fit(text: str, units: list[Unit], budget: int, meter: Meter) -> list[Unit]:
    """Measure units and divide those over the budget, as often as it takes."""
    _measure(text, units, meter)
    while any(_divisible(unit, budget) for unit in units):
        units = _divided(text, units, budget, meter)
    return units


def _units(lines: Lines, section: Section, block: Block, budget: int) -> Iterator[Unit]:
    start, end = lines.start(block.first), lines.end(block.last)
    if block.kind is not BlockKind.RECORDS and end - start <= budget * COARSE_CHARS:
        yield Unit(start, end, section, block, Cut.BLOCK)
        return
    parts = set(block.parts)
    last: Unit | None = None
    for line in range(block.first, block.last + 1):
        if lines.blank(line):
            continue
        if last is not None and _is_short(lines, last, line, begins=line in parts):
            last.end = lines.end(line)
            continue
        for unit in _line(lines, section, block, line, _cut_before(lines, block, line, parts), budget):
            if last is not None:
                yield last
            last = unit
    if last is not None:
        yield last


def _is_short(lines: Lines, unit: Unit, line: int, *, begins: bool) -> bool:
    """Tell whether a line is measured with the unit above; one that begins an item only joins whole items."""
    return lines.end(line) - unit.start <= FINE_CHARS and (not begins or unit.cut >= Cut.ITEM)


def _line(lines: Lines, section: Section, block: Block, line: int, cut: Cut, budget: int) -> Iterator[Unit]:
    start, end = lines.start(line), lines.end(line)
    if end - start <= budget * COARSE_CHARS:
        yield Unit(start, end, section, block, cut)
        return
    for first, last in pieces(lines.text, start, end, budget * COARSE_CHARS):
        yield Unit(first, last, section, block, cut)
        cut = Cut.SENTENCE


def _cut_before(lines: Lines, block: Block, line: int, parts: set[int]) -> Cut:
    if line == block.first:
        return Cut.BLOCK
    if line in parts:
        return Cut.ITEM
    if lines.blank(line - 1):
        return Cut.GAP
    if block.kind in (BlockKind.TABLE, BlockKind.RECORDS) and not parts:
        return Cut.SENTENCE
    if block.kind is BlockKind.PROSE and ends_sentence(lines.all[line - 2]):
        return Cut.SENTENCE
    return Cut.ANYWHERE


def _measure(text: str, units: Sequence[Unit], meter: Meter) -> None:
    counts = meter.parts([text[unit.start : unit.end] for unit in units])
    for unit, count in zip(units, counts, strict=True):
        unit.tokens = count


def _divisible(unit: Unit, budget: int) -> bool:
    return unit.tokens > budget and unit.end - unit.start > 1


def _divided(text: str, units: Sequence[Unit], budget: int, meter: Meter) -> list[Unit]:
    """Return the units with each that is over the budget in pieces, measured again."""
    result: list[Unit] = []
    fresh: list[Unit] = []
    for unit in units:
        if not _divisible(unit, budget):
            result.append(unit)
            continue
        made = [
            replace(unit, start=first, end=last, cut=Cut.SENTENCE if number else unit.cut)
            for number, (first, last) in enumerate(_parts(text, unit, budget))
        ]
        result += made
        fresh += made
    _measure(text, fresh, meter)
    return result


def _parts(text: str, unit: Unit, budget: int) -> list[Span]:
    return smaller(text, unit.start, unit.end, max(1, (unit.end - unit.start) * budget // unit.tokens))


def _keep_whole(units: Sequence[Unit], budget: int) -> None:
    """Forbid cuts inside what fits into a chunk: a block, or an item of a longer one. Records are no block."""
    for block in _runs(units, lambda unit, before: unit.block is not before.block):
        if block[0].block.kind is not BlockKind.RECORDS and _cost(block) <= budget:
            _glue(block)
        elif block[0].block.parts:
            for item in _runs(block, lambda unit, before: unit.cut is Cut.ITEM):
                if _cost(item) <= budget:
                    _glue(item)
    for before, unit in pairwise(units):
        if before.block.kind is BlockKind.HEADING and unit.section is before.section and unit.cut is Cut.BLOCK:
            unit.cut = Cut.BELOW_HEADING


def _runs(units: Sequence[Unit], begins: Callable[[Unit, Unit], bool]) -> Iterator[list[Unit]]:
    """Yield runs of units; ``begins`` tells of a unit and the one before it whether a new run begins."""
    run: list[Unit] = []
    for unit in units:
        if run and begins(unit, run[-1]):
            yield run
            run = []
        run.append(unit)
    if run:
        yield run


def _cost(units: Sequence[Unit]) -> int:
    return sum(unit.tokens for unit in units)


def _glue(units: Sequence[Unit]) -> None:
    for unit in units[1:]:
        unit.cut = Cut.NEVER
