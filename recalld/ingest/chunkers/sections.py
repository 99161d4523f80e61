"""Policy ``sections``: a chunk is a section, small neighbours together, long ones divided at blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from recalld.ingest.chunkers.context import Contexts
from recalld.ingest.chunkers.meter import Meter
from recalld.ingest.chunkers.pack import packed
from recalld.ingest.chunkers.passage import Passage, common, passage
from recalld.ingest.chunkers.units import Unit, measured
from recalld.ingest.outline import BlockKind, Lines, Outline, Section

SMALL_SHARE = 0.25
"""A section below this share of a chunk joins the one before it; larger ones are units of their own."""
TINY_SHARE = 0.1
"""A section below this share is joined by the one behind it, too."""


@dataclass(slots=True)
class _Group:
    units: list[Unit] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    root: tuple[str, ...] = ()
    tokens: int = 0
    only_headings: bool = True


def cut(lines: Lines, outline: Outline, contexts: Contexts, meter: Meter) -> list[Passage]:
    """Return the passages of a document, each with the room that its headings leave."""
    units = measured(lines, outline.sections, contexts.least_room, meter)
    passages: list[Passage] = []
    for group in _groups(_by_section(units), contexts):
        for first, behind in packed(group.units, contexts.room(group.sections[-1].heading)):
            before = group.units[first - 1].block if first else None
            passages.append(passage(group.units[first:behind], before))
    return passages


def _by_section(units: Sequence[Unit]) -> list[list[Unit]]:
    found: list[list[Unit]] = []
    for unit in units:
        if found and found[-1][0].section is unit.section:
            found[-1].append(unit)
        else:
            found.append([unit])
    return found


def _groups(sections: Sequence[list[Unit]], contexts: Contexts) -> list[_Group]:
    groups: list[_Group] = []
    for units, following in zip_longest(sections, sections[1:]):
        section, tokens = units[0].section, sum(unit.tokens for unit in units)
        leads = following is not None and _only_headings(section) and _is_above(section, following[0].section)
        if not (groups and _joins(groups[-1], section, tokens, contexts.room(section.heading), leads)):
            groups.append(_Group(root=section.heading))
        group = groups[-1]
        group.root = common((group.root, section.heading))
        group.units += units
        group.sections.append(section)
        group.tokens += tokens
        group.only_headings &= _only_headings(section)
    return groups


def _joins(group: _Group, section: Section, tokens: int, room: int, leads: bool) -> bool:
    """Tell whether a section is merged into the group before it; ``leads`` is a heading right above another one."""
    last = group.sections[-1]
    if last.alone or section.alone or not _related(group, section):
        return False
    small = room * SMALL_SHARE
    if group.only_headings and group.tokens <= small:
        return True
    if leads or group.tokens + tokens > room:
        return False
    introduces = _is_above(last, section) and group.tokens <= small
    return tokens <= small or introduces or group.tokens <= room * TINY_SHARE


def _related(group: _Group, section: Section) -> bool:
    """Tell whether a section stands below what the group is about, or beside its only section."""
    if section.heading[: len(group.root)] == group.root:
        return True
    return len(group.sections) == 1 and section.heading[:-1] == group.root[:-1]


def _is_above(one: Section, other: Section) -> bool:
    return len(one.heading) < len(other.heading) and other.heading[: len(one.heading)] == one.heading


def _only_headings(section: Section) -> bool:
    return all(block.kind is BlockKind.HEADING for block in section.blocks)
