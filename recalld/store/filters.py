"""Filters as SQL, applied inside each leg, so that a narrow search still gets its full number of candidates."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from recalld.errors import UsageError
from recalld.model import Filters
from recalld.store.text import escape_all

OPEN = "SELECT count(*) = 0 FROM repo WHERE visible_to <> '{}'"
"""Asks whether every repo may be searched by anyone."""


@dataclass(slots=True)
class Where:
    """A condition on ``document d`` and ``repo r``, with its arguments numbered from ``first``."""

    first: int
    terms: list[str] = field(default_factory=list)
    arguments: list[Any] = field(default_factory=list)

    def add(self, condition: str, value: Any) -> None:
        """Add a condition in which ``{}`` stands for the value."""
        self.terms.append(condition.format(f"${self.first + len(self.arguments)}"))
        self.arguments.append(value)

    def __str__(self) -> str:
        return " AND ".join(self.terms) or "true"


def narrows(filters: Filters) -> bool:
    """Tell whether the filters name anything but who asks."""
    return bool(filters.repos or filters.kinds or filters.tags or filters.path or filters.since or filters.until)


def where(filters: Filters, first: int) -> Where:
    """Return the condition that documents must meet."""
    result = Where(first)
    result.add("(r.visible_to = '{{}}' OR {} = ANY(r.visible_to))", filters.agent)
    if filters.repos:
        result.add("r.name = ANY({}::text[])", escape_all(filters.repos))
    if filters.kinds:
        result.add("d.kind = ANY({}::text[])", escape_all(filters.kinds))
    if filters.tags:
        result.add("d.tags && {}::text[]", escape_all(filters.tags))
    if filters.path:
        result.add("d.path ~ {}", glob_to_regex(filters.path))
    if filters.since:
        result.add("d.modified_at >= {}", filters.since)
    if filters.until:
        result.add("d.modified_at <= {}", filters.until)
    return result


def glob_to_regex(glob: str) -> str:
    """Return a glob as a regular expression over a whole path.

    ``*`` and ``?`` stay within a folder, ``**`` crosses folders, ``[...]`` is a set and ``[!...]`` its opposite; a
    bracket that closes nowhere is a bracket. A glob without a slash matches the file's name in any folder; one that
    ends in a slash matches all below. Raises UsageError for a set with a range that runs backwards.
    """
    glob = glob.removeprefix("./")
    if glob.endswith("/"):
        glob += "**"
    prefix = "(.*/)?" if "/" not in glob else ""
    return f"^{prefix}{''.join(_piece(piece) for piece in _PIECES.split(glob) if piece)}$"


_SET = re.compile(r"\[(?>!?)(?:\][^]]*|[^]]+)\]")
_PIECES = re.compile(rf"(\*\*/|\*\*|\*|\?|{_SET.pattern})")
_RANGES = re.compile(r"(.)-(.)|(.)", re.DOTALL)
_WILD = {"**/": "(.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _piece(piece: str) -> str:
    if piece in _WILD:
        return _WILD[piece]
    if _SET.fullmatch(piece):
        return _set(piece)
    return re.sub(r"([.^$*+?()\[\]{}|\\])", r"\\\1", piece)


def _set(piece: str) -> str:
    """Return a set with each character by its number: dialects differ in which ones are special."""
    negated = piece.startswith("[!")
    body = ""
    for low, high, single in _RANGES.findall(piece[2:-1] if negated else piece[1:-1]):
        if low > high:
            raise UsageError(f"the glob has a range that runs backwards: {piece}", suggestion=f"write {high}-{low}")
        body += _number(single) if single else f"{_number(low)}-{_number(high)}"
    return f"[^/{body}]" if negated else f"[{body}]"


def _number(character: str) -> str:
    return f"\\U{ord(character):08x}"
