"""Logs and tables of records: an entry is a line and the lines that continue it."""

from __future__ import annotations

import re

from recalld.ingest.outline import Block, BlockKind, Lines, Outline, plain_outline
from recalld.ingest.report import Reporter

_STAMP = re.compile(
    r"\W{0,3}(?:\d{4}[-/.]\d{2}[-/.]\d{2}|\d{2}:\d{2}:\d{2}|(?:[A-Z][a-z]{2}\s+)?[A-Z][a-z]{2}\s+\d{1,2}\s+\d{2}:\d{2}"
    r"|\d{2}/[A-Z][a-z]{2}/\d{4}|\d{10,13}\b)"
    r"|\W{0,2}(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL)\b|\{|<\d{1,3}>"
)
LINES_AN_ENTRY = 20
"""A log whose times stand further apart, on the average, is read line by line."""
STAMP_CHARS = 60
"""Where a line's time or level must begin to be seen, in characters."""


def read_log(lines: Lines, first: int, report: Reporter) -> Outline:
    """Return a log as its entries. Lines without a time or level continue the entry above, as a traceback does."""
    numbers = [line for line in range(first, len(lines) + 1) if not lines.blank(line)]
    stamped = [line for line in numbers if _STAMP.match(lines.all[line - 1][:STAMP_CHARS])]
    begins = (
        stamped
        if len(stamped) * LINES_AN_ENTRY >= len(numbers)
        else [n for n in numbers if not lines.all[n - 1][0].isspace()]
    )
    return _records(lines, first, tuple(begins))


def read_table(lines: Lines, first: int, report: Reporter) -> Outline:
    """Return a file of separated values as its rows; each passage is embedded with the names of its columns."""
    head = lines.all[first - 1] if len(lines) >= first else ""
    return _records(lines, first, (), head.strip()[:200])


def _records(lines: Lines, first: int, begins: tuple[int, ...], caption: str = "") -> Outline:
    trimmed = lines.trimmed(first, len(lines))
    return plain_outline([Block(*trimmed, BlockKind.RECORDS, begins, caption)] if trimmed else [])
