"""Files with nothing in them, and lines that were meant to be frontmatter but are read as text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from recalld.ingest.parse import Reading
from recalld.lint.catalogue import found
from recalld.lint.memory import Memory, is_note
from recalld.model import Finding

_MOST_LINES = 60
_KEYED = re.compile(r"[A-Za-z][\w -]{0,40}:(?!//)")
_UNSPACED = re.compile(r"([A-Za-z][\w-]{0,40}):([^\s:/\"'\[{][^:]*)$")
_FENCE = re.compile(r"\s*(?:-{3,}|\u2014{1,2}-?|\u2013{2,3})\s*$")
_COMMON = re.compile(
    r"(?i)(?:id|title|status|kind|type|date|tags|aliases|supersedes|superseded_by|valid_from|valid_until)\s*:"
)


def empty(memory: Memory) -> Iterator[Finding]:
    """Yield the notes without text."""
    for _, reading in memory.prose():
        if is_note(reading.document.path) and not reading.lines.text.strip():
            yield found("empty-file", reading.document.path, "there is nothing in it")


def almost_frontmatter(memory: Memory) -> Iterator[Finding]:
    """Yield the lines at a note's beginning that its author must have meant as frontmatter."""
    for _, reading in memory.prose():
        if is_note(reading.document.path) and not any(
            finding.code.startswith("frontmatter-") for finding in reading.document.findings
        ):
            yield from _second_block(reading) if reading.front.last else _missed_block(reading)
            yield from _unspaced(reading)


def _missed_block(reading: Reading) -> Iterator[Finding]:
    """Look for a block that is fenced otherwise than by ``---`` alone on its line, or whose first key is none."""
    lines = reading.lines.all[:_MOST_LINES]
    opening = next((number for number, text in enumerate(lines, 1) if text.strip()), 0)
    if not opening or not _FENCE.match(lines[opening - 1]):
        return
    closing = next((n for n in range(opening + 1, len(lines) + 1) if _FENCE.match(lines[n - 1])), None)
    if closing is None or not _is_keyed(lines[opening : closing - 1]):
        return
    message = "these lines look like frontmatter, but they are read as text"
    hint = "begin and end it with --- alone on a line, and write a space after each colon"
    yield found("frontmatter-almost", reading.document.path, message, hint, line=opening)


def _second_block(reading: Reading) -> Iterator[Finding]:
    lines = reading.lines.all[: reading.front.last + _MOST_LINES]
    at = reading.front.body
    while at <= len(lines) and not lines[at - 1].strip():
        at += 1
    if at > len(lines) or lines[at - 1].rstrip() != "---":
        return
    closing = next((n for n in range(at + 1, len(lines) + 1) if lines[n - 1].rstrip() == "---"), None)
    if closing is not None and _is_keyed(lines[at : closing - 1]):
        message = "a second block of frontmatter follows the first: it is read as text"
        yield found("frontmatter-almost", reading.document.path, message, "move its keys into the first", line=at)


def _unspaced(reading: Reading) -> Iterator[Finding]:
    for number in range(reading.front.first + 1, reading.front.last):
        text = reading.lines.all[number - 1]
        if _COMMON.match(text) and (match := _UNSPACED.match(text)):
            key, value = match.groups()
            message = f"{text[:60]!r} has no space after its colon: it states no {key}"
            yield found("frontmatter-almost", reading.document.path, message, f"write `{key}: {value}`", line=number)


def _is_keyed(lines: list[str]) -> bool:
    told = [text for text in lines if text.strip() and not text.lstrip().startswith("#")]
    keyed = sum(1 for text in told if _KEYED.match(text.strip()))
    return bool(told) and keyed * 4 >= len(told) * 3 and any(_COMMON.match(text.strip()) for text in told)
