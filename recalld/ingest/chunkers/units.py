"""The smallest pieces that chunks are packed from, each with its size in tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from recalld.ingest.chunkers.meter import Meter
from recalld.ingest.chunkers.spans import Span, ends_sentence, pieces, within
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
    ITEM = 2
    BLOCK = 3


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
    _keep_blocks_whole(units, budget)
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
    open_: Unit | None = None
    for line in range(block.first, block.last + 1):
        if lines.blank(line):
            continue
        if open_ is not None and lines.end(line) - open_.start <= FINE_CHARS:
            open_.end = lines.end(line)
            continue
        for unit in _line(lines, section, block, line, _cut_before(lines, block, line, parts), budget):
            if open_ is not None:
                yield open_
            open_ = unit
    if open_ is not None:
        yield open_


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
    if line in parts or lines.blank(line - 1):
        return Cut.ITEM
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
            for number, (first, last) in enumerate(_pieces(text, unit, budget))
        ]
        result += made
        fresh += made
    _measure(text, fresh, meter)
    return result


def _pieces(text: str, unit: Unit, budget: int) -> list[Span]:
    length = unit.end - unit.start
    most = max(1, min(length - 1, length * budget // unit.tokens))
    found = list(pieces(text, unit.start, unit.end, most))
    return found if len(found) > 1 else list(within(text, unit.start, unit.end, most))


def _keep_blocks_whole(units: Sequence[Unit], budget: int) -> None:
    """Forbid cuts inside blocks that fit into a chunk, and discourage them between a heading and its text."""
    costs: dict[int, int] = {}
    for unit in units:
        costs[id(unit.block)] = costs.get(id(unit.block), 0) + unit.tokens
    before: Unit | None = None
    for unit in units:
        if before is not None and unit.block is before.block:
            if costs[id(unit.block)] <= budget and unit.block.kind is not BlockKind.RECORDS:
                unit.cut = Cut.NEVER
        elif before is not None and before.block.kind is BlockKind.HEADING and unit.section is before.section:
            unit.cut = Cut.BELOW_HEADING
        before = unit
