"""One reader a file kind: text to outline. All are pure and read any text, whatever its name promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath

from recalld.ingest.kinds import CODE_SUFFIXES
from recalld.ingest.outline import Lines, Outline
from recalld.ingest.readers import logs, markdown, plain, restructured, source, structured
from recalld.ingest.report import Reporter

Read = Callable[[Lines, int, Reporter], Outline]
"""Reads a text from a 1-based line on."""


@dataclass(frozen=True, slots=True)
class Reader:
    """How a file kind is read. ``prose`` files may say something of themselves: frontmatter, headers, links."""

    read: Read
    prose: bool


_PLAIN = Reader(plain.read, prose=True)
_BY_SUFFIX: dict[str, Reader] = {
    **dict.fromkeys((".md", ".markdown", ".mdx", ".mdc", ".qmd"), Reader(markdown.read, prose=True)),
    **dict.fromkeys((".rst", ".rest"), Reader(restructured.read, prose=True)),
    **dict.fromkeys((".json", ".jsonc", ".webmanifest"), Reader(structured.read_json, prose=False)),
    **dict.fromkeys((".jsonl", ".ndjson"), Reader(structured.read_json_lines, prose=False)),
    **dict.fromkeys((".yaml", ".yml"), Reader(structured.read_yaml, prose=False)),
    ".toml": Reader(structured.read_toml, prose=False),
    ".log": Reader(logs.read_log, prose=False),
    **dict.fromkeys((".csv", ".tsv"), Reader(logs.read_table, prose=False)),
    **{suffix: Reader(source.reader(language), prose=False) for suffix, language in source.SUFFIXES.items()},
    **dict.fromkeys(CODE_SUFFIXES - source.SUFFIXES.keys(), Reader(plain.read, prose=False)),
}


def reader_for(path: str) -> Reader:
    """Return the reader of a path by its name."""
    return _BY_SUFFIX.get(PurePosixPath(path).suffix.casefold(), _PLAIN)
