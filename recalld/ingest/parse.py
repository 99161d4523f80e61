"""Reads one file: bytes to a document with its chunks, its own statements about itself, and what is wrong with it.

Pure and total: any bytes give a document. Faults are findings, never exceptions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from recalld.ingest import readers
from recalld.ingest.chunk_policy import ChunkPolicy
from recalld.ingest.chunkers import cut
from recalld.ingest.content import kind_of
from recalld.ingest.decode import decode
from recalld.ingest.outline import Lines
from recalld.ingest.report import Reporter
from recalld.model import ParsedDocument

PARSER_VERSION = 1
"""Raised whenever the same bytes would give other chunks; a new version is a new generation."""


def parse(
    path: str,
    content: bytes,
    policy: ChunkPolicy,
    count_tokens: Callable[[Sequence[str]], list[int]],
    token_limit: int,
) -> ParsedDocument:
    """Read the file at a repo-relative path.

    ``count_tokens`` and ``token_limit`` are the embedder's; no chunk's ``embed_text`` has more tokens.
    """
    report = Reporter(path)
    lines = Lines(decode(content, report).text)
    outline = readers.reader_for(path)(lines, 1, report)
    title = outline.title or PurePosixPath(path).stem or path
    return ParsedDocument(
        path=path,
        title=title,
        kind=kind_of(path),
        text=lines.text,
        chunks=cut(lines, outline, title, policy, count_tokens, token_limit),
        findings=tuple(report.findings),
    )
