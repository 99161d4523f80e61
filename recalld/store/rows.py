"""What the store takes and gives beside the nouns of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from recalld.model import ChunkWrite, DocumentState, Edge, ParsedDocument, Position, Snapshot


class Outcome(StrEnum):
    """What became of a write."""

    WRITTEN = "written"
    STALE = "stale"
    """A later position was written already, or this one needs nothing; nothing changed."""
    FORGOTTEN = "forgotten"
    """The document was forgotten on request and stays so."""


@dataclass(frozen=True, slots=True)
class DocumentWrite:
    """A document to index: its snapshot, what was read from it, and its chunks for each generation."""

    repo_id: int
    snapshot: Snapshot
    position: Position
    parsed: ParsedDocument
    chunks: Mapping[int, Sequence[ChunkWrite]]
    at: datetime


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A chunk of a stored document, without its text."""

    id: int
    heading: tuple[str, ...]
    lines: tuple[int, int]
    tokens: int


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as it is held; ``chunks`` are those of the serving generation."""

    id: int
    repo: str
    path: str
    title: str
    kind: str
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    metadata: Mapping[str, Any]
    text: str
    chunks: tuple[StoredPassage, ...]
    edges: tuple[Edge, ...]
    content_hash: str
    commit: str | None
    indexed_at: datetime
    first_indexed_at: datetime
    position: Position
    agent: str
    modified_at: datetime | None


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """A document's newest state, for those who follow changes."""

    repo: str
    path: str
    state: DocumentState
    content_hash: str
    position: Position
    at: datetime


@dataclass(frozen=True, slots=True)
class HeldChunk:
    """A chunk with the place that it has in its document; ``tokens`` is its size as the chunker counted it."""

    id: int
    path: str
    lines: tuple[int, int]
    tokens: int
    text: str


@dataclass(frozen=True, slots=True)
class ChunkOwner:
    """Where a chunk stands."""

    document_id: int
    ordinal: int
    lines: tuple[int, int]
    hash: str


@dataclass(frozen=True, slots=True)
class Totals:
    """The whole index in four numbers; ``stale`` counts files that the watcher could not read or hand over."""

    newest_indexed_at: datetime | None
    failed: int
    stale: int


@dataclass(frozen=True, slots=True)
class RepoRow:
    """One repo in numbers."""

    name: str
    path: str
    node: str
    state: str | None
    commit: str | None
    scanned_at: datetime | None
    documents: int
    chunks: int
    skipped: int
    failed: int
    forgotten: int
    newest_indexed_at: datetime | None


@dataclass(frozen=True, slots=True)
class GenerationRow:
    """A generation and how many of the documents it holds."""

    id: int
    fingerprint: str
    embedder: str
    state: str
    documents: int
    total: int


@dataclass(frozen=True, slots=True)
class SampledPassage:
    """A chunk that was drawn by lot: where it stands, the names above it, and its text."""

    path: str
    title: str
    heading: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class CalibrationRow:
    """A calibration as it is kept: plain JSON, and how the corpus was when it was last looked at."""

    id: int
    fitted_at: datetime
    model: Mapping[str, Any]
    probes: Sequence[Mapping[str, Any]]
    documents: int
    checked_at: datetime
    drift: str


@dataclass(frozen=True, slots=True)
class CorpusSize:
    """How many documents there are, and how many paths have changed since a moment."""

    documents: int
    changed: int


@dataclass(frozen=True, slots=True)
class JobRow:
    """A run of a job in one slot.

    ``state`` is queued, running, done, failed, timed_out, cancelled, or lost (its node went silent; it is run again).
    ``attempt`` counts its starts, ``failures`` and ``losses`` those that ended with an error or with their node;
    ``share`` (0 to 1, None where it cannot be said) and ``words`` are how far it is.
    """

    id: int
    name: str
    slot: str
    state: str
    requested_by: str
    asked_at: datetime
    node: str
    attempt: int
    failures: int
    losses: int
    started_at: datetime | None
    beat_at: datetime | None
    ended_at: datetime | None
    words: str
    share: float | None
    result: Mapping[str, Any]
    error: str
    cancelled_by: str


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that does not fit together in the index. ``repo`` and ``path`` are empty where it is of no document."""

    code: str
    repo: str
    path: str
    count: int
    detail: str = ""
