"""``stats``, ``health`` and ``events``: how things stand, and what happened."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from recalld.bus.wire.base import Reply, Request
from recalld.bus.wire.documents import FindingView
from recalld.bus.wire.search import Freshness
from recalld.model import State


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


class CalibrationView(Reply):
    """The calibration of the serving generation: fitted when, found to hold when, on how many documents then."""

    fitted_at: datetime
    checked_at: datetime
    documents: int


class StatsReply(Reply):
    """What is indexed. ``calibration`` is None where none has been fitted (or an older daemon answers)."""

    repos: tuple[RepoStats, ...]
    generations: tuple[GenerationStats, ...]
    freshness: Freshness
    findings: tuple[FindingView, ...]
    database_bytes: int
    cached_embeddings: int
    calibration: CalibrationView | None = None


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


class VerbView(Reply):
    """How a verb has fared on one node since it started; ``busy_ms`` is the time spent on it, all requests together."""

    requests: int
    errors: int
    busy_ms: float


class ServiceView(Reply):
    """A node that answers requests, and its verbs by name."""

    node: str
    version: str
    verbs: dict[str, VerbView]


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
