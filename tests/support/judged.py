"""Judged hits in tests, without an index."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from recalld.model import Position, RankedChunk, StoredChunk
from recalld.recall.answer import Judged
from recalld.trust.verdict import Judgement, Verdict

AT = datetime(2026, 1, 2, tzinfo=UTC)


def judged(
    number: int,
    text: str,
    *,
    document: int | None = None,
    first: int = 1,
    heading: tuple[str, ...] = (),
    metadata: Mapping[str, Any] | None = None,
    confidence: float | None = None,
    verdict: Verdict = Verdict.OK,
) -> Judged:
    """A hit that holds; its lines are those of its text from ``first`` on."""
    place = number if document is None else document
    chunk = StoredChunk(
        id=number,
        document_id=place,
        repo="memory",
        path=f"notes/{place}.md",
        title=f"Note {place}",
        kind="document",
        tags=(),
        heading=heading,
        lines=(first, first + text.count("\n")),
        text=text,
        hash=str(number),
        content_hash=f"hash of {place}",
        commit=None,
        agent="",
        position=Position(1, number),
        modified_at=None,
        indexed_at=AT,
        first_indexed_at=AT,
        metadata=metadata or {},
    )
    return Judged(RankedChunk(chunk, 1 / (number + 1), {"dense": 0.5}), Judgement(verdict), confidence)
