"""Lessons that have lost what makes them of use: a title to be found by, or the thing that they were learnt from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from recalld.ingest.parse import Reading
from recalld.lint.catalogue import found
from recalld.lint.links import leads_somewhere
from recalld.lint.memory import Memory, is_note, line_of
from recalld.model import Finding

_ORIGINS = (
    "source",
    "sources",
    "origin",
    "incident",
    "session",
    "learned_from",
    "applies_to",
    "file",
    "files",
    "check",
)
_FILE = re.compile(r"\[\[([^\[\]|]+)[^\[\]]*\]\]|([\w./-]*\w\.[a-z]{1,5})")


def orphans(memory: Memory) -> Iterator[Finding]:
    """Yield the lessons without a title, and those that name a file as their origin which is not there."""
    known = {reading.document.path for reading in memory.readings}
    for _, reading in memory.prose():
        document = reading.document
        if document.kind != "lesson" or not is_note(document.path) or not document.text.strip():
            continue
        if not document.metadata.get("title") and not reading.outline.title:
            message = "this lesson has neither a title nor a heading: only its file name can be found"
            yield found("orphan-lesson", document.path, message, "write a heading that says what it teaches", line=1)
        yield from _lost_origins(memory, known, reading)


def _lost_origins(memory: Memory, known: set[str], reading: Reading) -> Iterator[Finding]:
    for key in _ORIGINS:
        for target in _files(reading.document.metadata.get(key)):
            if not leads_somewhere(memory, known, reading, target):
                message = f"{key} {target!r} is not there any more"
                hint = "name what replaced it, or retire the lesson with it"
                line = line_of(reading, key)
                yield found("orphan-lesson", reading.document.path, message, hint, line=line, key=key)


def _files(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for inner in value:
            yield from _files(inner)
    elif isinstance(value, str) and (match := _FILE.fullmatch(value.strip())):
        target = match.group(1) or match.group(2)
        yield target if "." in PurePosixPath(target).name or "/" not in target else f"{target}.md"
