"""The messages of the bus: one model each way for each verb, and the events.

Unknown fields in a request are an error (a typo must not silently change a search);
unknown fields in a reply are ignored, so that an older client can talk to a newer daemon.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field

from recalld.model import DocumentState, Mode, Severity, State


class Request(BaseModel):
    """What every request carries. ``deadline_ms`` is how long the caller will wait."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    deadline_ms: Annotated[int, Field(ge=1, le=600_000)] | None = None


class Reply(BaseModel):
    """Base of all replies. ``model_validate`` takes an object with attributes of the same names, too."""

    model_config = ConfigDict(extra="ignore", frozen=True, from_attributes=True)


class ErrorBody(Reply):
    """A named error: ``code`` for programs, ``message`` and ``suggestion`` for people."""

    code: str
    message: str
    suggestion: str = ""


class ErrorReply(Reply):
    """What comes instead of a reply when a request fails."""

    error: ErrorBody


class FilterFields(Request):
    """What narrows a search; ``path`` is a glob, ``since``/``until`` bound the file's modification time."""

    repo: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()
    path: str | None = None
    since: datetime | None = None
    until: datetime | None = None


class SearchRequest(FilterFields):
    """Ask for the passages that best answer ``query``."""

    query: Annotated[str, Field(min_length=1, max_length=8_000)]
    k: Annotated[int, Field(ge=1, le=200)] = 8
    mode: Mode | None = None
    as_of: datetime | None = None
    known_as_of: datetime | None = None
    trace: bool = False
    all: bool = False
    min_seq: int | None = Field(None, description="wait (within the deadline) until this ingest sequence is indexed")


class Validity(Reply):
    """What the document says of its own standing."""

    valid_from: str | None = None
    valid_until: str | None = None
    superseded_by: str | None = None
    supersedes: tuple[str, ...] = ()


class Provenance(Reply):
    """Where a hit's text comes from, exactly. ``seq`` is the ingest sequence that it was indexed from."""

    content_hash: str
    commit: str | None
    indexed_at: datetime
    first_indexed_at: datetime
    seq: int = Field(validation_alias=AliasChoices("seq", AliasPath("position", "seq")))
    agent: str


class Hit(Reply):
    """One passage. ``lines`` are 1-based and inclusive; ``confidence`` is None where nothing is calibrated."""

    id: str
    repo: str
    path: str
    title: str
    kind: str
    lines: tuple[int, int]
    heading: tuple[str, ...]
    text: str
    score: float
    scores: dict[str, float] = Field(default_factory=dict)
    confidence: float | None
    verdict: str
    validity: Validity
    provenance: Provenance


class TraceStage(Reply):
    """One stage of a search. ``ranking`` lists chunk ids with their score, ``dropped`` those taken out and why."""

    stage: str
    took_ms: float
    entered: int
    left: int
    ranking: tuple[tuple[str, float], ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()


class Freshness(Reply):
    """How far the index is behind the disk. ``stale`` counts files known to differ that are not yet queued."""

    newest_indexed_at: datetime | None
    pending: int
    failed: int
    stale: int


class SearchReply(Reply):
    """The answer to a search. ``abstained`` means that nothing trustworthy was found, and ``reason`` why."""

    query: str
    abstained: bool
    reason: str
    gap_warning: bool
    calibrated: bool
    state: State
    notes: tuple[str, ...] = ()
    receipt: str
    freshness: Freshness
    took_ms: float
    trace: tuple[TraceStage, ...] | None = None
    hits: tuple[Hit, ...]


class GetRequest(Request):
    """Fetch one document by repo-relative path, ``repo:path``, or a hit's id."""

    ref: Annotated[str, Field(min_length=1, max_length=4_096)]
    repo: str | None = None


class ChunkView(Reply):
    """A chunk of a document, without its text (that is in the document)."""

    id: str
    heading: tuple[str, ...]
    lines: tuple[int, int]
    tokens: int


class EdgeView(Reply):
    """A relation as declared in the file."""

    kind: str
    target: str
    source: str
    key: str
    line: int | None


class FindingView(Reply):
    """A fault that names its file."""

    repo: str
    path: str
    code: str
    severity: Severity
    message: str
    hint: str
    line: int | None
    key: str | None
    attempts: int
    first_seen: datetime | None
    last_seen: datetime | None


class GetReply(Reply):
    """A document whole, as it was indexed."""

    id: str
    repo: str
    path: str
    title: str
    kind: str
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    metadata: dict[str, Any]
    text: str
    chunks: tuple[ChunkView, ...]
    edges: tuple[EdgeView, ...]
    findings: tuple[FindingView, ...]
    provenance: Provenance
    modified_at: datetime | None


class StatsRequest(Request):
    """Ask what is indexed and what is under way."""

    repo: str | None = None
    findings: Annotated[int, Field(ge=0, le=1_000)] = 20


class RepoStats(Reply):
    """One repo in numbers. ``state`` is what its watcher last said: watching, polling, scanning, offline, unknown."""

    name: str
    path: str
    node: str
    state: str
    documents: int
    chunks: int
    skipped: int
    failed: int
    forgotten: int
    newest_indexed_at: datetime | None
    indexed_commit: str | None
    last_scan_at: datetime | None


class GenerationStats(Reply):
    """A generation and how much of the corpus it holds."""

    id: int
    fingerprint: str
    embedder: str
    state: str
    documents: int
    total: int


class StatsReply(Reply):
    """What is indexed."""

    repos: tuple[RepoStats, ...]
    generations: tuple[GenerationStats, ...]
    freshness: Freshness
    findings: tuple[FindingView, ...]
    database_bytes: int
    cached_embeddings: int


class HealthRequest(Request):
    """Ask whether this node can answer, and on what it depends."""


class Check(Reply):
    """One dependency: ``ok``, ``warming``, ``degraded`` or ``failed``, with words and a suggestion."""

    name: str
    status: Literal["ok", "warming", "degraded", "failed"]
    detail: str = ""
    suggestion: str = ""
    took_ms: float | None = None


class HealthReply(Reply):
    """One node's health."""

    state: State
    node: str
    version: str
    roles: tuple[str, ...]
    started_at: datetime
    rss_bytes: int
    checks: tuple[Check, ...]


class ReindexRequest(Request):
    """Compare disk with index now. ``allow_prune`` lets a scan drop half a repo; ``force`` re-reads every file."""

    repo: str | None = None
    path: str | None = None
    allow_prune: bool = False
    force: bool = False


class ScanReport(Reply):
    """What one compare of a repo with the index found and did."""

    repo: str
    seen: int = 0
    changed: int = 0
    deleted: int = 0
    skipped: int = 0
    refused: int = 0
    unreadable: int = 0
    took_ms: float = 0.0
    error: ErrorBody | None = None
    last_seq: int = 0


class ReindexReply(Reply):
    """One report for each repo asked for."""

    reports: tuple[ScanReport, ...]


class RepoAddRequest(Request):
    """Watch a directory. ``path`` is absolute on ``node`` (default: the serving daemon's own)."""

    path: Annotated[str, Field(min_length=1, max_length=4_096)]
    name: str | None = None
    node: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    read_only: bool = False
    visible_to: tuple[str, ...] = ()


class RepoView(Reply):
    """A registered repo."""

    name: str
    path: str
    node: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    read_only: bool
    visible_to: tuple[str, ...]


class RepoReply(Reply):
    """The repo that was added or removed; ``documents`` counts what was dropped from the index on removal."""

    repo: RepoView
    documents: int = 0


class RepoListRequest(Request):
    """List repos, of one node or of all."""

    node: str | None = None


class RepoListReply(Reply):
    """The registered repos, by name."""

    repos: tuple[RepoView, ...]


class RepoRemoveRequest(Request):
    """Stop watching a repo and drop it from the index. Its files are not touched."""

    name: str


class ForgetRequest(Request):
    """Drop a document from the index and keep it out while its file stays, until ``undo``."""

    ref: Annotated[str, Field(min_length=1, max_length=4_096)]
    repo: str | None = None
    undo: bool = False


class ForgetReply(Reply):
    """What was forgotten (or will be indexed again)."""

    repo: str
    path: str
    chunks: int
    undone: bool = False


class DeltaRequest(Request):
    """Ask what changed in the index since ``since`` (a cursor of an earlier reply; empty for the beginning)."""

    since: str = ""
    limit: Annotated[int, Field(ge=1, le=10_000)] = 500
    repo: str | None = None


class Change(Reply):
    """One document's newest state."""

    repo: str
    path: str
    state: DocumentState
    content_hash: str
    seq: int
    at: datetime


class DeltaReply(Reply):
    """Changes in commit order; ask again with ``cursor``. ``more`` tells that the limit cut it."""

    changes: tuple[Change, ...]
    cursor: str
    more: bool


class EventsRequest(Request):
    """Read the event history: the last ``limit`` events, or those after ``since`` (an event's seq)."""

    since: int | None = None
    limit: Annotated[int, Field(ge=1, le=1_000)] = 50
    topic: str | None = None


class Event(Reply):
    """Something happened. ``topic`` is dotted (indexed, deleted, failed, scan.started, ...), ``data`` its facts."""

    topic: str
    at: datetime
    node: str
    data: dict[str, Any] = Field(default_factory=dict)
    seq: int | None = None


class EventsReply(Reply):
    """Events, oldest first."""

    events: tuple[Event, ...]
