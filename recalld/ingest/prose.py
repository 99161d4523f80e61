"""What running text says of who replaced whom: kept to be reported. Prose speaks of many things, and never acts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from recalld.model import Edge

MOST = 20
"""Remarks kept of one document."""

_NAME = (
    r"(\[\[[^\[\]|\n]{1,200}(?:\|[^\[\]\n]*)?\]\]|\[[^\[\]\n]{1,200}\]\([^()\s]{1,300}\)|"
    r"[\w./-]{1,200}\.(?:md|rst|txt)\b|[A-Z]{2,8}[ -]\d{1,6}\b)"
)
_PATTERNS = (
    ("superseded_by", re.compile(rf"(?i:\b(?:superseded|replaced|obsoleted)\s+by\b)[:\s]+(?i:the\s+)?[*_`]*{_NAME}")),
    ("supersedes", re.compile(rf"(?i:\b(?:supersedes|replaces|obsoletes)\b)[:\s]+(?i:the\s+)?[*_`]*{_NAME}")),
)


def remarks(lines: Iterable[tuple[int, str]]) -> Iterator[Edge]:
    """Yield the claims that prose makes by name, given as its numbered lines outside code."""
    found = 0
    for number, text in lines:
        lowered = text.lower()
        if "supersede" not in lowered and "replace" not in lowered and "obsolete" not in lowered:
            continue
        for kind, pattern in _PATTERNS:
            for match in pattern.finditer(text):
                yield Edge(kind, match.group(1), "prose", "", number)
                found += 1
                if found == MOST:
                    return
