"""Links from a document's text to other documents: wiki links and markdown links to local files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from recalld.ingest.outline import BlockKind, Lines, Outline
from recalld.model import Edge

MAX_LINKS = 2_000
"""Distinct targets kept of one document."""

_WIKI = re.compile(r"\[\[([^\[\]|\n]{1,300})(?:\|[^\[\]\n]{0,300})?\]\]")
_INLINE = re.compile(r"\[[^\[\]\n]{0,500}\]\(\s*<?([^()<>\s]{1,500})>?(?:\s+[\"'(][^()\n]{0,300})?\s*\)")
_REFERENCE = re.compile(r"\s{0,3}\[[^\[\]\n]{1,200}\]:\s*<?([^<>\s]{1,500})>?")
_CODE_SPAN = re.compile(r"(?<!`)`[^`\n]{1,500}`(?!`)")
_FENCE = re.compile(r"\s*(?:[-*+]\s+|\d+[.)]\s+|>\s*)*(`{3,}|~{3,})")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|#")


def links(lines: Lines, outline: Outline) -> Iterator[Edge]:
    """Yield the local links of a document outside code, each target once, with the line it first stands on."""
    seen: set[str] = set()
    for line, text in prose_lines(lines, outline):
        if "[" not in text:
            continue
        for target in _targets(text):
            if target not in seen:
                seen.add(target)
                yield Edge("link", target, "link", line=line)
            if len(seen) >= MAX_LINKS:
                return


def prose_lines(lines: Lines, outline: Outline) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a document that are not code."""
    for section in outline.sections:
        for block in section.blocks:
            if block.kind is BlockKind.CODE:
                continue
            fence = ""
            for line in range(block.first, block.last + 1):
                text = lines.all[line - 1]
                if (mark := _FENCE.match(text)) and (not fence or mark.group(1).startswith(fence)):
                    fence = "" if fence else mark.group(1)
                elif not fence:
                    yield line, text


def _targets(text: str) -> Iterator[str]:
    if "`" in text:
        text = _CODE_SPAN.sub("", text)
    for match in _WIKI.finditer(text):
        if not match.group(1)[0].isspace():
            yield match.group(1).strip()
    if "](" in text:
        for match in _INLINE.finditer(text):
            yield from _local(match.group(1))
    if (reference := _REFERENCE.match(text)) is not None:
        yield from _local(reference.group(1))


def _local(target: str) -> Iterator[str]:
    if not _SCHEME.match(target) and ("." in target or "/" in target):
        yield target
