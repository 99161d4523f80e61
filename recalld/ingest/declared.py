"""What documents say of themselves without frontmatter: mail-like headers, ``Status:`` lines, metadata tables.

Only the beginning of a document is looked at, and a section named Status; code never is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from recalld.ingest.keys import EDGE_KEYS, folded, meaning
from recalld.ingest.outline import BlockKind, Lines, Outline, Section

MAX_HEADER_LINES = 200
MAX_LINES_LOOKED_AT = 60
MAX_VALUE_CHARS = 400
MIN_HEADERS = 2
"""Fewer mail-like lines than this are a text that happens to have a colon."""

_HEADER = re.compile(r"([A-Za-z][A-Za-z0-9-]{0,40}):(?:\s+(.*))?$")
_LINE = re.compile(
    r"\s{0,3}(?:>\s?)?(?:[-*+]\s+)?(?:\*\*|__)?([A-Za-z][A-Za-z _-]{1,30}?)(?:\*\*|__)?\s*:\s*(?:\*\*|__)?\s*(.*)$"
)
_MARKED = re.compile(r"\s{0,3}(?:>|[-*+]\s|\*\*|__|:|\|)")
_TARGET = re.compile(r"(?:\[\[|\[|\S+$|[A-Za-z]{2,8}[ -]?#?\d)")
_ROW = re.compile(r"\s{0,3}\|\s*(?:\*\*)?([A-Za-z][A-Za-z _-]{1,30}?)(?:\*\*)?:?\s*\|\s*([^|]*?)\s*\|\s*$")
_FIELD = re.compile(r":([A-Za-z][A-Za-z _-]{1,30}):(?:\s+(.*))?$")
_KNOWN = frozenset(
    """
    status estado state date fecha supersedes superseded_by replaces replaced_by obsoletes obsoleted_by valid_from
    valid_until valid_to expires expires_on tags aliases kind type scope author authors owner owners decider deciders
    builds_on amends amended_by updates updated_by updated last_updated created reviewed extends depends_on
    """.split()  # noqa: SIM905
)
_STATUS_HEADINGS = frozenset({"status", "estado", "state"})


@dataclass(frozen=True, slots=True)
class Declared:
    """One statement: its key folded, its value as written, and the line it stands on."""

    key: str
    value: str
    line: int


def header_block(lines: Lines, first: int) -> tuple[list[Declared], int]:
    """Return the mail-like headers that a text begins with and the last line of them; none and 0 where it has none."""
    found: list[Declared] = []
    line = next((n for n in range(first, len(lines) + 1) if not lines.blank(n)), len(lines) + 1)
    while line <= len(lines) and not lines.blank(line):
        text = lines.all[line - 1]
        match = _HEADER.match(text) if len(text) <= MAX_VALUE_CHARS * 4 else None
        if match:
            found.append(Declared(folded(match.group(1)), (match.group(2) or "").strip(), line))
        elif text[:1] in " \t" and found:
            found[-1] = Declared(found[-1].key, f"{found[-1].value} {text.strip()}".strip(), found[-1].line)
        else:
            return [], 0
        line += 1
        if len(found) > MAX_HEADER_LINES:
            return [], 0
    return (found, line - 1) if len(found) >= MIN_HEADERS else ([], 0)


def statements(lines: Lines, outline: Outline) -> Iterator[Declared]:
    """Yield the known keys that a document states at its beginning, and what its Status section says."""
    looked_at = 0
    for number, section in enumerate(outline.sections):
        if section.heading and section.heading[-1].casefold().strip(": ") in _STATUS_HEADINGS:
            yield from _status_section(lines, section)
        if len(section.heading) > 1 or number > 2 or looked_at > MAX_LINES_LOOKED_AT:
            continue
        for line in _lines(section, (BlockKind.PROSE, BlockKind.LIST, BlockKind.TABLE)):
            looked_at += 1
            if looked_at > MAX_LINES_LOOKED_AT:
                break
            yield from _statement(lines, line)


def _statement(lines: Lines, line: int) -> Iterator[Declared]:
    text = lines.all[line - 1][: MAX_VALUE_CHARS * 2]
    match = _ROW.match(text) or _FIELD.match(text) or _LINE.match(text)
    if match is None or folded(match.group(1)) not in _KNOWN:
        return
    key, value = folded(match.group(1)), _clean(match.group(2) or "")
    if not value or len(value) > MAX_VALUE_CHARS:
        return
    if _MARKED.match(text) or meaning(key) not in EDGE_KEYS or _TARGET.match(value):
        yield Declared(key, value, line)


def _status_section(lines: Lines, section: Section) -> Iterator[Declared]:
    for line in _lines(section, (BlockKind.PROSE, BlockKind.LIST)):
        value = _clean(re.sub(r"^\s*[-*+]\s+", "", lines.all[line - 1][: MAX_VALUE_CHARS * 2]))
        if value and len(value) <= MAX_VALUE_CHARS:
            yield Declared("status", value, line)
            return


def _lines(section: Section, kinds: Sequence[BlockKind]) -> Iterator[int]:
    for block in section.blocks:
        if block.kind in kinds:
            yield from range(block.first, block.last + 1)


def _clean(value: str) -> str:
    return value.strip().rstrip("\\").strip("*_ ").strip()
