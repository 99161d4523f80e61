"""Edits of a lesson's file that touch the daemon's own keys and lines alone: every other byte stays as it is. Pure."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from recalld.errors import RefusedError
from recalld.ingest import frontmatter
from recalld.ingest.frontmatter import Frontmatter
from recalld.ingest.outline import Lines
from recalld.ingest.report import Reporter
from recalld.ingest.written import entry, stamp
from recalld.lessons.lesson_file import SEEN, LessonFile, Sighting, read_lesson, sighting_of

OWN_KEYS = frozenset({"status", "seen_count", "last_seen", "pinned"})
"""The keys that the daemon writes after a lesson was made."""
_END = re.compile(r"\r?\n\Z")
_COMMENT = re.compile(r"\s#.*\Z")


def seen_again(path: str, content: bytes, at: datetime, agent: str) -> bytes:
    """Return a lesson's content with one more sighting: its count, its last day, and a dated line.

    Raises RefusedError where that cannot be written so that it reads back as meant.
    """
    before = read_lesson(path, content)
    sighting = Sighting(at.replace(microsecond=0), agent)
    count = max(before.seen_count, len(before.seen), 1) + 1
    text = _with_keys(path, _text(path, content), {"seen_count": count, "last_seen": stamp(at)})
    after = _encoded(content, _with_line(text, sighting.line))
    reread = read_lesson(path, after)
    if (reread.seen_count, reread.seen) != (count, (*before.seen, sighting)) or not _says_the_same(before, reread):
        raise _unsafe(path)
    return after


def with_key(path: str, content: bytes, key: str, value: str | bool | None) -> bytes:
    """Return a lesson's content with one of the daemon's keys set, or taken out (None). Raises RefusedError."""
    assert key in OWN_KEYS
    before = read_lesson(path, content)
    after = _encoded(content, _with_keys(path, _text(path, content), {key: value}))
    reread = read_lesson(path, after)
    wanted: Any = value if value is not None else (False if key == "pinned" else "")
    if getattr(reread, key) != wanted or reread.seen != before.seen or not _says_the_same(before, reread):
        raise _unsafe(path)
    return after


def _text(path: str, content: bytes) -> str:
    bare = content.removeprefix(codecs.BOM_UTF8)
    try:
        return bare.decode("utf-8")
    except UnicodeDecodeError:
        raise RefusedError(f"{path} is not UTF-8", suggestion="save it as UTF-8") from None


def _encoded(content: bytes, text: str) -> bytes:
    mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
    return mark + text.encode("utf-8")


def _front(path: str, text: str) -> Frontmatter:
    return frontmatter.read(Lines(text.replace("\r\n", "\n")), Reporter(path))


def _with_keys(path: str, text: str, values: Mapping[str, Any]) -> str:
    """Set single-line keys where they stand, add those that are missing above the closing line, drop the Nones."""
    front = _front(path, text)
    if not front.last or front.broken or text.replace("\r\n", "\n").split("\n")[front.first - 1].rstrip() != "---":
        raise _unsafe(path)
    lines = _lines(text)
    end, added = _end_of(lines[0]), ""
    for key, value in values.items():
        number = front.lines.get(key)
        if number:
            lines[number - 1] = "" if value is None else _changed(lines[number - 1], entry(key, value))
        elif value is not None:
            added += entry(key, value) + end
    lines[front.last - 1] = added + lines[front.last - 1]
    return "".join(lines)


def _lines(text: str) -> list[str]:
    """Return the lines with their ends; LF alone ends one, as for the reader."""
    return re.findall(r"[^\n]*\n|[^\n]+\Z", text)


def _changed(line: str, written: str) -> str:
    """Return a line with another value; a comment behind it stays."""
    comment = _COMMENT.search(line.rstrip("\r\n"))
    return written + (comment.group() if comment else "") + _end_of(line)


def _end_of(line: str) -> str:
    match = _END.search(line)
    return match.group() if match else "\n"


def _with_line(text: str, line: str) -> str:
    """Add a dated line behind the others, under a heading of their own where there is none yet."""
    lines = _lines(text)
    end = _end_of(lines[0])
    heads = [number for number, each in enumerate(lines) if each.rstrip() == SEEN]
    if not heads:
        last = lines[-1] if lines[-1].endswith("\n") else lines[-1] + end
        gap = "" if not last.strip() else end
        return "".join([*lines[:-1], last, gap, SEEN, end, end, line, end])
    at = head = heads[-1]
    for number in range(head + 1, len(lines)):
        if sighting_of(lines[number]) or (at == head and not lines[number].strip()):
            at = number
        elif lines[number].strip():
            break
    if not lines[at].endswith("\n"):
        lines[at] += end
    gap = end if at == head else ""
    return "".join([*lines[: at + 1], gap, line, end, *lines[at + 1 :]])


def _says_the_same(before: LessonFile, after: LessonFile) -> bool:
    kept = ("title", "check", "body", "scope", "tags", "trigger", "learned_by", "learned_at", "digest")
    return all(getattr(before, name) == getattr(after, name) for name in kept)


def _unsafe(path: str) -> RefusedError:
    return RefusedError(f"the frontmatter of {path} cannot be changed safely", suggestion="edit it by hand")
