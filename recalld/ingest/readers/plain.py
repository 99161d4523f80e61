"""Plain text: paragraphs between blank lines."""

from __future__ import annotations

from recalld.ingest.outline import Lines, Outline, paragraphs, plain_outline
from recalld.ingest.report import Reporter


def read(lines: Lines, first: int, report: Reporter) -> Outline:
    """Return the paragraphs of a text from line ``first`` on."""
    return plain_outline(list(paragraphs(lines, first, len(lines))))
