"""A lesson as a markdown file: how it is written, and how it is read back.

What the daemon wrote can be told from what a person touched: a file is machine-written where its digest fits and
writing it anew gives the same text. Pure.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from recalld.ingest import frontmatter
from recalld.ingest.decode import decode
from recalld.ingest.outline import Lines
from recalld.ingest.report import Reporter
from recalld.ingest.written import entry, moment_of, one_line, prose, stamp

SEEN = "## Seen"
"""The heading of the section that is the daemon's: a dated line each time that the failure occurred."""
PROPOSED = "proposed"
_SIGHTING = re.compile(r"- (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)(?: (\S.*))?")


@dataclass(frozen=True, slots=True, order=True)
class Sighting:
    """One time that the failure occurred, to the second, and who told."""

    at: datetime
    agent: str = ""

    @property
    def line(self) -> str:
        """The line that stands for it."""
        return f"- {stamp(self.at)} {self.agent}".rstrip()


@dataclass(frozen=True, slots=True)
class LessonFile:
    """A lesson as its file says it.

    ``status`` is ``proposed`` or empty; ``scope`` are globs, none for all files; ``learned_by`` is empty, and
    ``learned_at`` None, where a person wrote it. ``digest`` is what the file claims. ``machine_written`` tells that
    nobody but the daemon had a hand in it.
    """

    title: str
    check: str = ""
    body: str = ""
    status: str = ""
    scope: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    trigger: str = ""
    learned_by: str = ""
    learned_at: datetime | None = None
    seen_count: int = 0
    last_seen: datetime | None = None
    pinned: bool = False
    digest: str = ""
    seen: tuple[Sighting, ...] = ()
    machine_written: bool = False

    @property
    def proposed(self) -> bool:
        """Tell whether it waits to be accepted, and is inert until then."""
        return self.status.casefold() == PROPOSED

    @property
    def text(self) -> str:
        """All that it says, for comparing."""
        return "\n".join(part for part in (self.title, self.check, self.body) if part)


def learned(
    *,
    title: str,
    check: str,
    body: str,
    scope: Iterable[str] = (),
    tags: Iterable[str] = (),
    trigger: str = "",
    proposed: bool = False,
    agent: str,
    at: datetime,
) -> LessonFile:
    """Return a new lesson as the daemon writes it: texts cleaned, seen once, with its digest."""
    moment = at.astimezone(UTC).replace(microsecond=0)
    made = LessonFile(
        title=one_line(title),
        check=one_line(check),
        body=prose(body),
        status=PROPOSED if proposed else "",
        scope=_unique(scope),
        tags=_unique(tags),
        trigger=one_line(trigger),
        learned_by=agent,
        learned_at=moment,
        seen_count=1,
        last_seen=moment,
        seen=(Sighting(moment, agent),),
        machine_written=True,
    )
    return replace(made, digest=digest_of(made))


def digest_of(lesson: LessonFile) -> str:
    """Return the sha256 over what a lesson teaches: any of it that a person changes breaks it."""
    said = [lesson.title, lesson.check, lesson.body, list(lesson.scope), list(lesson.tags), lesson.trigger]
    return hashlib.sha256(json.dumps(said, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


def render(lesson: LessonFile) -> str:
    """Return the text of a lesson's file; :func:`read_lesson` gives the lesson back."""
    seen = "\n".join(sighting.line for sighting in lesson.seen)
    body = f"{lesson.body}\n\n" if lesson.body else ""
    head = "".join(f"{entry(key, value)}\n" for key, value in _front(lesson) if value not in ("", [], None))
    return f"---\n{head}---\n\n{body}{SEEN}\n\n{seen}\n"


def read_lesson(path: str, content: bytes) -> LessonFile:
    """Read any file as a lesson; what it does not say is empty. A title that is missing is the file's name."""
    text = decode(content, Reporter(path))
    lines = Lines(text)
    front = frontmatter.read(lines, Reporter(path))
    said = front.values
    body, seen = _parts(lines.all[front.last :])
    lesson = LessonFile(
        title=_line(said.get("title")) or _heading(body) or path.rpartition("/")[2].rpartition(".")[0],
        check=_line(said.get("check")),
        body=body,
        status=_line(said.get("status")),
        scope=_strings(said.get("scope")),
        tags=_strings(said.get("tags")),
        trigger=_line(said.get("trigger")),
        learned_by=_line(said.get("learned_by")),
        learned_at=moment_of(said.get("learned_at")),
        seen_count=_count(said.get("seen_count")),
        last_seen=moment_of(said.get("last_seen")),
        pinned=said.get("pinned") is True,
        digest=_line(said.get("digest")),
        seen=seen,
    )
    return replace(lesson, machine_written=_is_ours(lesson, content))


def sighting_of(line: str) -> Sighting | None:
    """Read a dated line; None for any other."""
    match = _SIGHTING.fullmatch(line.rstrip())
    at = moment_of(match[1]) if match else None
    return Sighting(at, match[2] or "") if match and at else None


def _front(lesson: LessonFile) -> list[tuple[str, Any]]:
    return [
        ("title", lesson.title),
        ("kind", "lesson"),
        ("check", lesson.check),
        ("status", lesson.status),
        ("scope", list(lesson.scope)),
        ("tags", list(lesson.tags)),
        ("trigger", lesson.trigger),
        ("learned_by", lesson.learned_by),
        ("learned_at", stamp(lesson.learned_at) if lesson.learned_at else None),
        ("seen_count", lesson.seen_count),
        ("last_seen", stamp(lesson.last_seen) if lesson.last_seen else None),
        ("digest", lesson.digest),
        ("pinned", lesson.pinned or None),
    ]


def _is_ours(lesson: LessonFile, content: bytes) -> bool:
    if not lesson.learned_by or lesson.digest != digest_of(lesson):
        return False
    return content.replace(b"\r\n", b"\n") == render(lesson).encode("utf-8", "surrogatepass")


def _parts(lines: list[str]) -> tuple[str, tuple[Sighting, ...]]:
    """Take the text below the frontmatter apart: the body, and the dated lines of the last section of them."""
    heads = [number for number, line in enumerate(lines) if line.rstrip() == SEEN]
    at = heads[-1] if heads else len(lines)
    body = "\n".join(lines[:at]).strip("\n").rstrip()
    return body, tuple(found for line in lines[at + 1 :] if (found := sighting_of(line)))


def _heading(body: str) -> str:
    first = body.split("\n", 1)[0]
    return first[2:].strip() if first.startswith("# ") else ""


def _unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, map(one_line, values))))


def _line(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return " ".join(str(value).split())


def _strings(value: Any) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(dict.fromkeys(filter(None, map(_line, value))))
    return (_line(value),) if _line(value) else ()


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
