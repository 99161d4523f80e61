"""reStructuredText: sections as docutils sees them, blocks by blank lines and indentation.

docutils gets only what can be a heading: lines at the margin. Directives, roles and includes never run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from docutils import frontend, nodes, utils
from docutils.parsers import rst
from docutils.parsers.rst import states

from recalld.ingest.outline import Block, BlockKind, Lines, Outline, Outliner, paragraphs
from recalld.ingest.report import Reporter

MAX_CHARS = 2_000_000
"""A longer text is read without its headings, which is reported."""
MAX_LINE_CHARS = 500

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*\s*$")
_OPENS_LITERAL = re.compile(r"(?:.*::|\.\. (?:[\w:+.-]+::.*|\[.*))\s*$")
_MARKUP = re.compile(r"``|:[\w:+.-]+:(?=`)|[*`|]")


class _Inliner(states.Inliner):
    """Leaves text as it is: headings need no inline markup, and roles are not to run."""

    def init_customizations(self, settings: Any) -> None:
        """Compile no patterns for markup that is not read."""

    def parse(
        self, text: str, lineno: int, _memo: Any, _parent: nodes.Element
    ) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        return [nodes.Text(text)], []


def read(lines: Lines, first: int, report: Reporter) -> Outline:
    """Return the outline of reStructuredText that begins on line ``first``."""
    outliner = Outliner()
    at = first
    for level, title, found, end in _headings(lines, first, report):
        begin = max(found, at)
        if begin > end:
            continue
        for block in _blocks(lines, at, begin - 1):
            outliner.block(block)
        outliner.heading(title, level, Block(begin, end, BlockKind.HEADING))
        at = end + 1
    for block in _blocks(lines, at, len(lines)):
        outliner.block(block)
    return outliner.outline()


def _headings(lines: Lines, first: int, report: Reporter) -> list[tuple[int, str, int, int]]:
    """Return level, title, first and last line of each heading."""
    shown = _shown(lines, first)
    if sum(map(len, shown)) > MAX_CHARS:
        report.note("rst-too-large", "the text is too long to look for headings", "divide the file")
        return []
    try:
        document = _parsed("\n".join(shown))
    except Exception as error:  # docutils raises what it likes on text that is not its own
        report.note("rst-unreadable", f"docutils found no headings: {error}"[:200], "check the file with docutils")
        return []
    return list(_sections(lines, document, 1))


def _shown(lines: Lines, first: int) -> list[str]:
    """Return the lines with all that cannot be a heading left blank: what has no line of signs at the margin."""
    shown = [""] * len(lines)
    for block in paragraphs(lines, first, len(lines)):
        texts = lines.all[block.first - 1 : block.last]
        if any(_ADORNMENT.match(text[:MAX_LINE_CHARS]) for text in texts):
            for line, text in enumerate(texts, block.first):
                margin = not text[:1].isspace() or _overlined(lines, line)
                shown[line - 1] = text[:MAX_LINE_CHARS] if margin and not text.startswith("..") else ""
    return shown


def _overlined(lines: Lines, line: int) -> bool:
    if not 1 < line < len(lines):
        return False
    over, under = lines.all[line - 2], lines.all[line]
    return over == under and len(over) > 1 and _ADORNMENT.match(over) is not None


def _parsed(text: str) -> nodes.document:
    settings = frontend.get_default_settings(rst.Parser)
    settings.report_level, settings.halt_level = 5, 6
    settings.warning_stream = False
    settings.file_insertion_enabled = settings.raw_enabled = False
    settings.line_length_limit = MAX_LINE_CHARS * 2
    document = utils.new_document("text", settings)
    rst.Parser(inliner=_Inliner()).parse(text, document)
    return document


def _sections(lines: Lines, parent: nodes.Element, level: int) -> Iterator[tuple[int, str, int, int]]:
    for node in parent.children:
        if isinstance(node, nodes.section) and node.line:
            yield (level, _plain(node.children[0].astext()), *_extent(lines, node.line))
            yield from _sections(lines, node, level + 1)


def _extent(lines: Lines, under: int) -> tuple[int, int]:
    """Return a heading's first and last line; docutils names the line below its text."""
    begin = max(1, under - 1)
    over = begin > 1 and lines.all[begin - 2].strip() == lines.all[under - 1].strip()
    return (begin - 1 if over else begin), under


def _blocks(lines: Lines, first: int, last: int) -> Iterator[Block]:
    """Yield paragraphs; what is indented below ``::`` or a directive is one block of code, blank lines and all."""
    pending: list[Block] = []
    for block in paragraphs(lines, first, last):
        if pending and _indented(lines, block.first):
            pending.append(block)
            continue
        yield from _literal(pending)
        pending = []
        yield block
        if _OPENS_LITERAL.match(lines.all[block.last - 1][-200:]) and not _indented(lines, block.last):
            pending = [block]
    yield from _literal(pending)


def _literal(pending: Sequence[Block]) -> Iterator[Block]:
    if len(pending) > 1:
        yield Block(pending[1].first, pending[-1].last, BlockKind.CODE)


def _indented(lines: Lines, line: int) -> bool:
    return lines.all[line - 1][:1] in (" ", "\t")


def _plain(title: str) -> str:
    return " ".join(_MARKUP.sub("", title).split())
