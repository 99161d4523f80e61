"""What readers hand to chunkers: a document's sections and blocks, as line ranges of its text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

MAX_HEADING_CHARS = 200
"""A heading's title is cut here; its line stays in the text whole."""


class BlockKind(StrEnum):
    """What a block is; chunkers keep the ones of one piece together where they fit."""

    HEADING = "heading"
    PROSE = "prose"
    LIST = "list"
    TABLE = "table"
    CODE = "code"
    RECORDS = "records"
    """Lines that each stand alone: log entries, table rows of a data file."""


@dataclass(frozen=True, slots=True)
class Block:
    """Lines ``first`` to ``last`` (1-based, inclusive) that belong together.

    ``parts`` are the first lines of its items (list items, log entries), where it is best divided when it is too
    long. ``caption`` is what a part loses when it is cut off: a table's head, a function's signature.
    """

    first: int
    last: int
    kind: BlockKind
    parts: tuple[int, ...] = ()
    caption: str = ""


@dataclass(slots=True)
class Section:
    """A heading and what stands below it up to the next heading. ``heading`` is its path, its own title last.

    ``alone`` keeps it from being merged with its neighbours.
    """

    heading: tuple[str, ...]
    blocks: list[Block] = field(default_factory=list)
    alone: bool = False


@dataclass(slots=True)
class Outline:
    """A document as its reader understood it. ``title`` is its first heading, if it has one."""

    sections: list[Section]
    title: str | None = None


class Lines:
    """A text and where its lines begin; only LF ends a line."""

    def __init__(self, text: str) -> None:
        self.text = text
        starts, at = [0], text.find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = text.find("\n", at + 1)
        self._starts = starts

    def __len__(self) -> int:
        """Return the number of lines; a final newline begins no further one."""
        return len(self._starts) - (self._starts[-1] == len(self.text))

    @cached_property
    def all(self) -> list[str]:
        """The lines without their ends; index 0 is line 1."""
        return self.text.split("\n")

    def number(self, offset: int) -> int:
        """Return the 1-based line that a character stands in."""
        return bisect_right(self._starts, offset)

    def start(self, line: int) -> int:
        """Return the offset of a line's first character."""
        return self._starts[line - 1]

    def end(self, line: int) -> int:
        """Return the offset just behind a line's last character, its newline left out."""
        return self._starts[line] - 1 if line < len(self._starts) else len(self.text)

    def blank(self, line: int) -> bool:
        """Tell whether a line has nothing to see."""
        return not self.all[line - 1].strip()

    def trimmed(self, first: int, last: int) -> tuple[int, int] | None:
        """Return a line range without blank lines at its ends, None when nothing is left."""
        while first <= last and self.blank(first):
            first += 1
        while last >= first and self.blank(last):
            last -= 1
        return (first, last) if first <= last else None


def paragraphs(lines: Lines, first: int, last: int, kind: BlockKind = BlockKind.PROSE) -> Iterator[Block]:
    """Yield the runs of lines between blank ones."""
    begun: int | None = None
    for line in range(first, last + 1):
        if lines.blank(line):
            if begun is not None:
                yield Block(begun, line - 1, kind)
            begun = None
        elif begun is None:
            begun = line
    if begun is not None:
        yield Block(begun, last, kind)


def with_gaps(lines: Lines, blocks: Iterable[Block], first: int, last: int) -> Iterator[Block]:
    """Yield the blocks and, as prose, what no block covers, so that no line of a document is lost."""
    at = first
    for block in blocks:
        if block.last < at:
            continue
        yield from paragraphs(lines, at, block.first - 1)
        trimmed = lines.trimmed(max(block.first, at), block.last)
        if trimmed is not None:
            yield Block(*trimmed, block.kind, block.parts, block.caption)
        at = block.last + 1
    yield from paragraphs(lines, at, last)


@dataclass(slots=True)
class Outliner:
    """Builds sections from headings and blocks in the order they stand."""

    sections: list[Section] = field(default_factory=lambda: [Section(())])
    title: str | None = None
    title_level: int = 0
    _open: list[tuple[int, str]] = field(default_factory=list)

    def heading(self, title: str, level: int, block: Block | None) -> None:
        """Open a section below the last one of a lower level. ``block`` is its heading line, where it has one."""
        title = title[:MAX_HEADING_CHARS].strip()
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        self._open.append((level, title))
        if self.title is None and title:
            self.title, self.title_level = title, level
        self.sections.append(Section(tuple(name for _, name in self._open if name), [block] if block else []))

    def block(self, block: Block) -> None:
        """Add a block to the open section."""
        self.sections[-1].blocks.append(block)

    def outline(self) -> Outline:
        """Return what was built, without sections that hold nothing."""
        return Outline([section for section in self.sections if section.blocks], self.title)


def plain_outline(blocks: Sequence[Block]) -> Outline:
    """Return an outline without headings."""
    return Outline([Section((), list(blocks))] if blocks else [])
