"""What a document says of itself, from all the places it may say it, as fields, metadata and edges."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from recalld.ingest import dates
from recalld.ingest.declared import Declared
from recalld.ingest.frontmatter import Frontmatter
from recalld.ingest.keys import EDGE_KEYS, folded, meaning
from recalld.ingest.kinds import kind_named
from recalld.ingest.outline import MAX_HEADING_CHARS
from recalld.ingest.report import Reporter
from recalld.model import Edge

SOURCES = "_sources"
"""Metadata key that names, for each key not read from the frontmatter under that name, where it was read."""

MAX_WORDS = 200
"""Tags and aliases kept of one document."""
MAX_EDGES = 200

RECORD = "supersession"
"""Kind of the files in which recalld records that one document replaced another; keys ``old`` and ``new``."""

_VALIDITY = ("valid_from", "valid_until")
_DATE_KEY = re.compile(
    r"(?:.*_)?(?:date|created|updated|modified|reviewed|decided|stale_after)(?:_at|_on)?|.*_(?:at|on)"
)
_NO_TARGET = frozenset(
    {"", "none", "null", "nil", "n/a", "na", "-", "--", "\u2014", "~", "no", "false", "tbd", "nothing"}
)
_TEMPLATE = re.compile(r"\{\{.*\}\}|<%.*%>|<[^<>/]*>|\$\{.*\}|\{[^{}]*\}|[xX]{3,}")
_LIST = re.compile(r"\s*[,;]\s*")
_OUTER_LIST = re.compile(r"\s*[,;]\s*(?![^()\[\]]{0,200}[)\]])")
MAX_LISTED_CHARS = 2_000
"""A longer value is no list of targets."""
_TARGET_WORD = re.compile(r"\[\[[^\[\]]+\]\]|[^\s\[\]()]+|[A-Za-z]{2,8}[ -]?\d{1,6}|\[[^\[\]]*\]\([^()\s]*\)")
_REMARK = re.compile(r"\s+\([^()]*\)$")
_STATUS_BY = re.compile(r"(?i)\b(?:superseded|replaced|obsoleted)(?:\s+|-)by\b[:\s]*(.+)$")
_PARTLY = re.compile(r"(?i)\b(?:partial(?:ly)?|partly|in part)\b")
_STATUS_OF = re.compile(r"(?i)\b(?:supersedes|replaces|obsoletes)\b[:\s]+(.+)$")
_FORBIDDEN = re.compile("[\x00\ud800-\udfff]")


@dataclass(slots=True)
class Statements:
    """A document's own word on itself. ``title`` and ``kind`` are None where it says nothing."""

    title: str | None = None
    kind: str | None = None
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)


def gather(front: Frontmatter, declared: Sequence[Declared], report: Reporter) -> Statements:
    """Bring frontmatter and declared lines together; the frontmatter wins where both speak."""
    metadata: dict[str, Any] = {}
    sources: dict[str, str] = {}
    edges: list[Edge] = []
    for key, value in front.values.items():
        line = front.lines.get(key)
        name = folded(key) or key
        _note(metadata, sources, name, clean(value), "key")
        edges += _edges(name, value, "key", key, line, report)
    stated = frozenset(metadata)
    for each in declared:
        if each.key not in stated:
            _note(metadata, sources, each.key, clean(each.value), "header")
        edges += _edges(each.key, _listed(each.value), "header", each.key, each.line, report)
    edges += _record(front)
    _check_dates(metadata, front, declared, report)
    if sources:
        metadata[SOURCES] = sources
    return Statements(
        title=_line(metadata.get("title")),
        kind=declared_kind(metadata),
        aliases=_words(metadata.get("aliases"), commas=False),
        tags=tuple(dict.fromkeys(tag.lstrip("#") for tag in _words(metadata.get("tags"), commas=True))),
        metadata=metadata,
        edges=_distinct(edges)[:MAX_EDGES],
    )


def clean(value: Any) -> Any:
    """Return a value as JSON and Postgres can hold it: no NUL, no lone surrogate, no endless number."""
    if isinstance(value, str):
        return _FORBIDDEN.sub("", value)
    if isinstance(value, list):
        return [clean(inner) for inner in value]
    if isinstance(value, dict):
        return {clean(str(key)): clean(inner) for key, inner in value.items()}
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return str(value) if isinstance(value, int) and abs(value) > 1 << 63 else value


def _note(metadata: dict[str, Any], sources: dict[str, str], name: str, value: Any, source: str) -> None:
    """Record a value under its own key and, where that is a synonym, under the key it means."""
    if name in metadata and source != "key":
        return
    metadata[name] = value
    if source != "key":
        sources[name] = source
    target = meaning(name)
    if target != name and target not in metadata:
        metadata[target] = value
        sources[target] = source if source != "key" else f"key {name}"


def _line(value: Any) -> str | None:
    """Return a value as a title: one line of text. A date or a number is a title like any other."""
    if value is None or isinstance(value, (dict, list)):
        return None
    return " ".join(str(value).split())[:MAX_HEADING_CHARS].strip() or None


def declared_kind(metadata: Mapping[str, Any]) -> str | None:
    """Return the kind that a document says it is, None where it says nothing of that."""
    own = metadata.get("kind")
    if isinstance(own, str) and own.strip() and not _TEMPLATE.search(own):
        word = folded(own)
        return kind_named(word) or word
    other = metadata.get("type")
    return kind_named(other) if isinstance(other, str) else None


def _words(value: Any, *, commas: bool) -> tuple[str, ...]:
    """Return tags or aliases, written as a list, as nested lists, or as one text with commas."""
    words = [word for text in _texts(value) for word in (_LIST.split(text) if commas or "," in text else [text])]
    found = (" ".join(word.strip("\"' ").split()) for word in words)
    return tuple(dict.fromkeys(word for word in found if word and not _TEMPLATE.fullmatch(word)))[:MAX_WORDS]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif value is not None and not isinstance(value, (dict, bool)):
        yield str(value)


def _listed(value: str) -> Any:
    """Return a value as the list of targets that it may be: ``245, 246``, ``ADR 4 (in part), ADR 6``."""
    parts = _OUTER_LIST.split(value) if len(value) <= MAX_LISTED_CHARS else [value]
    named = all(_TARGET_WORD.fullmatch(_REMARK.sub("", part)) for part in parts)
    return parts if len(parts) > 1 and named else value


def _edges(name: str, value: Any, source: str, key: str, line: int | None, report: Reporter) -> Iterator[Edge]:
    kind = meaning(name)
    if kind in EDGE_KEYS:
        for target in _targets(value, key, line, report):
            yield Edge(kind, target, source, key, line)
    elif kind == "status" and isinstance(value, str):
        yield from _status_edges(value, key, line)


def _status_edges(value: str, key: str, line: int | None) -> Iterator[Edge]:
    for kind, pattern in (("superseded_by", _STATUS_BY), ("supersedes", _STATUS_OF)):
        if match := pattern.search(value):
            part = " (in part)" if _PARTLY.search(value[: match.start(1)]) else ""
            for target in _texts(_listed(match.group(1).strip(" .*_"))):
                if _is_target(target):
                    yield Edge(kind, f"{target}{part}", "status", key, line)


def _record(front: Frontmatter) -> Iterator[Edge]:
    """Yield what a record of a supersession, a file of ours, says of two other documents."""
    old, new = front.values.get("old"), front.values.get("new")
    if front.values.get("kind") == RECORD and isinstance(old, str) and isinstance(new, str):
        yield Edge("supersedes", old, "record", "old", front.lines.get("old"), subject=new)


def _targets(value: Any, key: str, line: int | None, report: Reporter) -> Iterator[str]:
    if isinstance(value, dict):
        report.warning(
            "edge-unclear",
            f"{key} is neither a name nor a list of names; no relation was read from it",
            "write one target, or a list of targets",
            line=line,
            key=key,
        )
    elif isinstance(value, list):
        for inner in value:
            if isinstance(inner, list) and len(inner) == 1 and isinstance(inner[0], (str, int)):
                inner = f"[[{inner[0]}]]"
            yield from _targets(inner, key, line, report)
    elif value is not None and not isinstance(value, bool):
        text = clean(str(value)).strip()
        parts = _listed(text)
        yield from (part for part in (parts if isinstance(parts, list) else [text]) if _is_target(part))


def _is_target(text: str) -> bool:
    bare = text.strip().strip("[]").strip().rstrip(".").casefold()
    return bare not in _NO_TARGET and not _TEMPLATE.fullmatch(text.strip())


def _distinct(edges: Sequence[Edge]) -> list[Edge]:
    seen: dict[tuple[str, str, str], Edge] = {}
    for edge in edges:
        seen.setdefault((edge.kind, edge.target, edge.source), edge)
    return list(seen.values())


def _check_dates(metadata: dict[str, Any], front: Frontmatter, declared: Sequence[Declared], report: Reporter) -> None:
    """Bring the dates of validity into ISO form; report those that are none, and any other date that does not exist."""
    lines = {folded(key): line for key, line in front.lines.items()} | {each.key: each.line for each in declared}
    for key, value in list(metadata.items()):
        if meaning(key) in _VALIDITY:
            metadata[key] = _validity(key, value, lines.get(key), report, meant=key in lines)
        elif _DATE_KEY.fullmatch(key) and isinstance(value, str):
            _check_date(key, value, lines.get(key), report)
    start, end = metadata.get("valid_from"), metadata.get("valid_until")
    if (
        isinstance(start, str)
        and isinstance(end, str)
        and dates.iso(start)
        and dates.iso(end)
        and start[:10] > end[:10]
    ):
        report.error(
            "validity-empty",
            f"valid_from {start} is after valid_until {end}: it is never valid",
            "swap the dates, or correct one",
            line=lines.get("valid_until"),
            key="valid_until",
        )


def _validity(key: str, value: Any, line: int | None, report: Reporter, *, meant: bool) -> Any:
    if value is None or (isinstance(value, str) and value.strip().casefold() in _NO_TARGET):
        return None
    found = dates.iso(value) if isinstance(value, str) else None
    if found is None and meant:
        report.error(
            "invalid-date",
            f"{key}: {str(value)[:60]!r} is no date",
            "write a day as 2026-05-31 or a time as 2026-05-31T18:00:00Z",
            line=line,
            key=key,
        )
    return found if found is not None else value


def _check_date(key: str, value: str, line: int | None, report: Reporter) -> None:
    if dates.is_placeholder(value):
        report.note(
            "placeholder-date", f"{key} still has its template's {value[:40]!r}", "write the date", line=line, key=key
        )
    elif dates.looks_like_date(value) and dates.iso(value) is None:
        report.warning("invalid-date", f"{key}: there is no {value[:40]!r}", "correct the date", line=line, key=key)
