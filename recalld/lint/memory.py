"""What the rules look at: the documents of one directory, read, with the graph of who replaced whom."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from recalld.ingest.keys import folded, meaning
from recalld.ingest.links import prose_lines
from recalld.ingest.parse import Reading
from recalld.trust.graph import Graph, Member
from recalld.trust.members import member
from recalld.trust.verdict import Moment, judge_standing

_HEAD_LINES = 80
_KEY_LINE = re.compile(r"^[\s>*_#|:-]*([A-Za-z][A-Za-z _-]{1,30}?)[*_]*\s*(?:[:|]|$)")
_NOTES = (".md", ".markdown", ".mdx", ".mdc", ".qmd", ".rst", ".rest", ".txt", ".adoc", ".org")


@dataclass
class Memory:
    """The documents of a directory. A document's place in ``readings`` is its id in ``graph``.

    ``exists`` tells whether there is anything at a path, relative to the directory, in the memory or not.
    """

    readings: Sequence[Reading]
    now: datetime
    exists: Callable[[str], bool] = field(default=lambda path: False)

    @cached_property
    def graph(self) -> Graph:
        """Who replaced whom, by the rules that the daemon answers with."""
        return Graph(_member(number, reading) for number, reading in enumerate(self.readings))

    def prose(self) -> Iterator[tuple[int, Reading]]:
        """Yield the documents that may say something of themselves, with their ids."""
        return ((number, reading) for number, reading in enumerate(self.readings) if reading.prose)

    def stands(self, id_: int) -> bool:
        """Tell whether a document would be served as valid now."""
        return judge_standing(self.graph.members[id_], self.graph, Moment(self.now)) is None


def _member(number: int, reading: Reading) -> Member:
    document = reading.document
    edges = ((edge, None) for edge in document.edges)
    return member(number, "", document.path, document.title, document.aliases, document.metadata, edges)


def is_note(path: str) -> bool:
    """Tell by its name whether a file is meant to be read by people."""
    return path.casefold().endswith(_NOTES)


def line_of(reading: Reading, key: str) -> int | None:
    """Return the line on which a document states a key, wherever it states it."""
    for written, line in reading.front.lines.items():
        if meaning(folded(written)) == key:
            return line
    for number, text in enumerate(reading.lines.all[:_HEAD_LINES], 1):
        if (match := _KEY_LINE.match(text[:200])) and meaning(folded(match.group(1))) == key:
            return number
    return None


def prose_of(reading: Reading) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a document's text that are not code."""
    return prose_lines(reading.lines, reading.outline)
