"""Markdown, by CommonMark's rules for blocks and GitHub's tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from recalld.ingest.outline import Block, BlockKind, Lines, Outline, Outliner, with_gaps
from recalld.ingest.report import Reporter

MAX_STRUCTURE_CHARS = 2_000
"""How much of a line is looked at for structure, in characters; what a line is shows at its beginning."""
MAX_SETEXT_LINES = 2
MAX_SETEXT_CHARS = 200
"""A longer "heading" above a line of dashes is a paragraph that a rule follows."""
MAX_TITLE_CHARS = 120
_TITLE = re.compile(r"[^\W_].*[^.!?:;,|]")

_parser = MarkdownIt("commonmark", {"maxNesting": 12}).enable("table")
_KINDS = {
    "fence": BlockKind.CODE,
    "code_block": BlockKind.CODE,
    "html_block": BlockKind.PROSE,
    "paragraph_open": BlockKind.PROSE,
    "blockquote_open": BlockKind.PROSE,
    "hr": BlockKind.PROSE,
    "bullet_list_open": BlockKind.LIST,
    "ordered_list_open": BlockKind.LIST,
    "table_open": BlockKind.TABLE,
}
_MARKUP = re.compile(r"!?\[([^\[\]]{0,200})\]\([^()\s]{0,500}\)|[*`]+|<[^<>]{1,200}>|\s*\{#[^{}]{1,100}\}\s*$")


def read(lines: Lines, first: int, report: Reporter) -> Outline:
    """Return the outline of markdown that begins on line ``first``."""
    outliner = Outliner()
    for item in with_gaps(lines, _blocks(lines, first, report), first, len(lines)):
        title = _titles(item, lines)
        if title is None:
            outliner.block(item)
        else:
            outliner.heading(title[1], title[0], item)
    outline = outliner.outline()
    if outliner.title_level > 1:
        outline.title = _title_line(lines, outline) or outline.title
    return outline


def _title_line(lines: Lines, outline: Outline) -> str | None:
    """Return the text's first line where it is a title without a mark: short, alone, and no sentence."""
    first = outline.sections[0].blocks[0]
    text = plain(lines.all[first.first - 1])
    alone = first.kind is BlockKind.PROSE and first.first == first.last
    return text if alone and len(text) <= MAX_TITLE_CHARS and _TITLE.fullmatch(text) else None


def plain(text: str) -> str:
    """Return a heading without its markup, on one line."""
    return " ".join(_MARKUP.sub(r"\1", text).split())


def _tokens(lines: Lines, first: int) -> list[Token]:
    shown = [""] * (first - 1) + [line[:MAX_STRUCTURE_CHARS] for line in lines.all[first - 1 :]]
    tokens: list[Token] = []
    _parser.block.parse("\n".join(shown), _parser, {}, tokens)
    return tokens


def _blocks(lines: Lines, first: int, report: Reporter) -> Iterator[Block]:
    tokens = _tokens(lines, first)
    for number, token in enumerate(tokens):
        if token.level != 0 or token.map is None:
            continue
        begin, end = token.map[0] + 1, token.map[1]
        if token.type == "heading_open":
            yield Block(begin, end, _heading_kind(lines, begin, end), caption=f"{token.tag[1:]}{token.markup[0]}")
        elif token.type in _KINDS:
            if token.type == "fence" and not _is_closed(lines, begin, end, token.markup):
                report.warning(
                    "fence-unclosed",
                    "a code fence is opened here and never closed",
                    f"close it with {token.markup}",
                    line=begin,
                )
            yield Block(begin, end, _KINDS[token.type], *_inside(lines, tokens, number, begin))


def _heading_kind(lines: Lines, begin: int, end: int) -> BlockKind:
    body = range(begin, end) if end > begin else range(begin, end + 1)
    long = len(body) > MAX_SETEXT_LINES or sum(len(lines.all[line - 1]) for line in body) > MAX_SETEXT_CHARS
    return BlockKind.PROSE if long and end > begin else BlockKind.HEADING


def _is_closed(lines: Lines, begin: int, end: int, markup: str) -> bool:
    last = lines.all[end - 1].strip().lstrip("> ")
    return end > begin and last.startswith(markup) and not last.strip(markup[0])


def _inside(lines: Lines, tokens: Sequence[Token], number: int, begin: int) -> tuple[tuple[int, ...], str]:
    """Return where a list or table is best divided, and the caption of its parts."""
    token = tokens[number]
    if token.type == "table_open":
        return (), lines.all[begin - 1].strip()[:MAX_STRUCTURE_CHARS]
    if token.type not in ("bullet_list_open", "ordered_list_open"):
        return (), ""
    parts: list[int] = []
    for inner in tokens[number + 1 :]:
        if inner.level == 0:
            break
        if inner.type == "list_item_open" and inner.map is not None:
            parts.append(inner.map[0] + 1)
    return tuple(sorted(set(parts))), ""


def _titles(block: Block, lines: Lines) -> tuple[int, str] | None:
    """Return a heading's level and text, None for other blocks."""
    if block.kind is not BlockKind.HEADING:
        return None
    level, mark = int(block.caption[0]), block.caption[1]
    if mark == "#":
        raw = lines.all[block.first - 1].strip().lstrip("#").rstrip()
        return level, plain(re.sub(r"(?:^|\s)#+$", "", raw))
    return level, plain(" ".join(lines.all[line - 1].strip() for line in range(block.first, block.last)))
