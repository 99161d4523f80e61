"""From a document to what it says to check: a lesson is one guardrail, each section of a rule is one. Pure.

The line that is shown comes from the document's ``check``, from a line or section of that name, or from the first
sentence that commands something; a section of a rule in which nothing is commanded guides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from recalld.ingest.outline import BlockKind, Section, paragraphs
from recalld.ingest.parse import Reading
from recalld.lessons.guardrail import Guardrail

MAX_CHECK = 300
"""Longer lines are cut: a checklist is read at a glance (characters)."""
MAX_OF_ONE = 200
"""Guardrails that one document gives at most."""
_CHECK_LINE = re.compile(
    r"^\s{0,3}(?:>\s?)?(?:[-*+]\s+)?(?:\[[ x]\]\s+)?(?:\*\*|__)?check(?:list)?"
    r"(?:\*\*|__)?\s*:\s*(?:\*\*|__)?\s*(\S.*)$",
    re.IGNORECASE,
)
_CHECK_HEADING = re.compile(r"(?i)^\W*check(?:list|s)?\b|before you|preflight")
_COMMAND = re.compile(
    r"\b(?:always|never|must(?: not)?|do not|don['\u2019]t|should(?: not|n['\u2019]t)?|may not|cannot be|required?|"
    r"avoid|ensure|make sure|check (?:that|whether|if)|verify|forbidden|prohibited|no longer|"
    r"only (?:use|if|when|after|with)|"
    r"nunca|siempre|debe[ns]?|no (?:uses?|se debe)|evita[r]?|asegúrate|obligatorio|prohibido)\b",
    re.IGNORECASE,
)
_IMPERATIVE = re.compile(
    r"^(?:use|prefer|keep|run|write|add|remove|put|name|test|read|ask|stop|wait|set|pin|check|commit|update|call|start|"
    r"before|after|when|if|no|not|only)\b",
    re.IGNORECASE,
)
_SCOPES = ("scope", "paths", "globs", "applyto", "apply_to")
"""Keys under which rules name the files that they are about; the latter four are what some agents read."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[\w`*\"(])")
_MARKUP = re.compile(r"^\s{0,3}(?:>\s?)*(?:[-*+]|\d+[.)])?\s*(?:\[[ x]\]\s+)?")
_STRONG = re.compile(r"\*\*|__|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


@dataclass(frozen=True, slots=True)
class Guided:
    """What one document guides; ``pinned`` and ``seen`` (how often it was learnt) order what is told at a beginning."""

    guardrails: tuple[Guardrail, ...]
    pinned: bool = False
    seen: int = 1


def guided(reading: Reading, *, by_paragraph: bool = False, weight: float = 1.0) -> Guided:
    """Return what a document says to check, under ids that begin with its path."""
    document = reading.document
    metadata = document.metadata
    check = _text(metadata.get("check"))
    base = Guardrail(
        document.path,
        document.title,
        check[:MAX_CHECK],
        kind=document.kind,
        path=document.path,
        tags=(*document.tags, *_words(metadata.get("trigger"))),
        scope=tuple(word for key in _SCOPES for word in _words(metadata.get(key))),
        unless=_words(metadata.get("unless")),
        weight=weight,
    )
    if by_paragraph:
        found = list(_of_paragraphs(base, reading))
    elif document.kind == "rule" and not check:
        found = list(_of_sections(base, reading))
    else:
        found = _of_whole(base, reading)
    return Guided(tuple(found[:MAX_OF_ONE]), metadata.get("pinned") is True, _count(metadata.get("seen_count")))


def _of_whole(base: Guardrail, reading: Reading) -> list[Guardrail]:
    """Return a document as one guardrail; a list of lessons, one below another, as one for each."""
    titled = [section for section in reading.outline.sections if len(section.heading) > 1]
    if base.kind == "lesson" and not base.check and len(titled) > 1:
        return list(_of_sections(base, reading))
    lines = [line for section in reading.outline.sections for line in _lines(reading, section)]
    check = base.check or _stated(reading, reading.outline.sections)
    if not check and base.kind == "lesson":
        check = _commanding(lines) or base.title
    text = [line for section in reading.outline.sections for line in _lines(reading, section, code=True)]
    return [replace(base, check=check, text="\n".join(text))] if check else []


def _of_sections(base: Guardrail, reading: Reading) -> Iterator[Guardrail]:
    taken: set[str] = set()
    for section in reading.outline.sections:
        lines = _lines(reading, section)
        title = section.heading[-1] if section.heading else base.title
        check = _stated(reading, [section]) or _commanding(lines)
        if not check and base.kind == "lesson" and len(section.heading) > 1:
            check = title
        if check:
            heading = " / ".join(section.heading[1:] or section.heading)
            yield replace(
                base, id=_id(base.id, title, taken), title=heading or title, check=check, text="\n".join(lines)
            )


def _of_paragraphs(base: Guardrail, reading: Reading) -> Iterator[Guardrail]:
    taken: set[str] = set()
    for section in reading.outline.sections:
        title = section.heading[-1] if section.heading else base.title
        for block in section.blocks:
            if block.kind is BlockKind.CODE or block.kind is BlockKind.HEADING:
                continue
            for first, last in _parts(reading, block.first, block.last, block.parts):
                text = "\n".join(reading.lines.all[first - 1 : last])
                check = _commanding(text.splitlines())
                if check:
                    yield replace(base, id=_id(base.id, title, taken), title=title, check=check, text=text)


def _parts(reading: Reading, first: int, last: int, parts: Sequence[int]) -> Iterator[tuple[int, int]]:
    if parts:
        starts = sorted({first, *parts})
        yield from zip(starts, [start - 1 for start in starts[1:]] + [last], strict=True)
    else:
        yield from ((block.first, block.last) for block in paragraphs(reading.lines, first, last))


def _lines(reading: Reading, section: Section, *, code: bool = False) -> list[str]:
    """Return the lines of a section, its headings and, unless asked for, its code left out."""
    return [
        line
        for block in section.blocks
        if block.kind is not BlockKind.HEADING and (code or block.kind is not BlockKind.CODE)
        for line in reading.lines.all[block.first - 1 : block.last]
    ]


def _stated(reading: Reading, sections: Sequence[Section]) -> str:
    """Return what stands on a line ``Check:``, or first below a heading of that name."""
    for section in sections:
        lines = _lines(reading, section)
        for line in lines:
            if match := _CHECK_LINE.match(line[: MAX_CHECK * 2]):
                return _plain(match.group(1))
        if len(section.heading) > 1 and _CHECK_HEADING.match(section.heading[-1]):
            first = next((plain for line in lines if (plain := _plain(line))), "")
            if first:
                return first
    return ""


def _commanding(lines: Sequence[str]) -> str:
    """Return the first sentence that says what must or must not be, else the first that is an imperative."""
    sentences = list(_sentences(lines))
    return next((one for one in sentences if _COMMAND.search(one)), "") or next(
        (one for one in sentences if _IMPERATIVE.match(one)), ""
    )


def _sentences(lines: Sequence[str]) -> Iterator[str]:
    """Yield the sentences of prose; a list item begins one, and a wrapped line goes on with it."""
    paragraph = ""
    for line in [*lines, ""]:
        fresh = not line.strip() or _MARKUP.match(line[:20]).group().strip()  # type: ignore[union-attr]
        if fresh and paragraph:
            yield from (_plain(part) for part in _SENTENCE.split(paragraph))
            paragraph = ""
        if line.lstrip().startswith(("|", "#", "<!--")):
            continue
        paragraph = f"{paragraph} {_MARKUP.sub('', line.strip(), count=1)}".strip()[: MAX_CHECK * 10]


def _plain(text: str) -> str:
    """Return a line without its markup, cut to what can be read at a glance."""
    text = " ".join(_STRONG.sub("", _LINK.sub(r"\1", _MARKUP.sub("", text, count=1))).split())
    return text if len(text) <= MAX_CHECK else f"{text[: MAX_CHECK - 2].rsplit(' ', 1)[0]} \u2026"


def _id(path: str, title: str, taken: set[str]) -> str:
    slug = re.sub(r"[^\w]+", "-", title.casefold()).strip("-")[:60] or "section"
    name, number = slug, 1
    while name in taken:
        number += 1
        name = f"{slug}-{number}"
    taken.add(name)
    return f"{path}#{name}"


def _text(value: Any) -> str:
    items = value if isinstance(value, list) else [value]
    return _plain("; ".join(item.strip() for item in items if isinstance(item, str)))


def _words(value: Any) -> tuple[str, ...]:
    items = value if isinstance(value, list) else value.split(",") if isinstance(value, str) else ()
    return tuple(item.strip() for item in items if isinstance(item, str) and item.strip())


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 1
