"""One reader a file kind: text to outline. All are pure and read any text, whatever its name promises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath

from recalld.ingest.outline import Lines, Outline
from recalld.ingest.readers import markdown, plain
from recalld.ingest.report import Reporter

Read = Callable[[Lines, int, Reporter], Outline]
"""Reads a text from a 1-based line on."""

_BY_SUFFIX: dict[str, Read] = {
    **dict.fromkeys((".md", ".markdown", ".mdx", ".mdc", ".qmd"), markdown.read),
}


def reader_for(path: str) -> Read:
    """Return the reader of a path by its name."""
    return _BY_SUFFIX.get(PurePosixPath(path).suffix.casefold(), plain.read)
