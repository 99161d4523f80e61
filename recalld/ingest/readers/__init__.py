"""One reader a file kind: text to outline. All are pure and read any text, whatever its name promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath

from recalld.ingest.outline import Lines, Outline
from recalld.ingest.readers import markdown, plain
from recalld.ingest.report import Reporter

Read = Callable[[Lines, int, Reporter], Outline]
"""Reads a text from a 1-based line on."""


@dataclass(frozen=True, slots=True)
class Reader:
    """How a file kind is read. ``prose`` files may say something of themselves: frontmatter, headers, links."""

    read: Read
    prose: bool


_MARKDOWN = Reader(markdown.read, prose=True)
_PLAIN = Reader(plain.read, prose=True)

_BY_SUFFIX: dict[str, Reader] = {
    **dict.fromkeys((".md", ".markdown", ".mdx", ".mdc", ".qmd"), _MARKDOWN),
}


def reader_for(path: str) -> Reader:
    """Return the reader of a path by its name."""
    return _BY_SUFFIX.get(PurePosixPath(path).suffix.casefold(), _PLAIN)
