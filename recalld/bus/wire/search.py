"""``search``: a question, and the hits with how far each may be trusted."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import AliasChoices, AliasPath, Field

from recalld.bus.wire.base import Reply, Request
from recalld.model import Mode, State


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
    as_of: datetime | None = Field(None, description="what was valid then (default: now)")
    known_as_of: datetime | None = Field(None, description="by what the memory knew then (default: all it knows)")
    trace: bool = False
    all: bool = Field(False, description="hits that do not hold, too, at the end")
    receipt: bool = Field(True, description="false where nobody relies on the answer: then no receipt is kept")
    min_seq: int | None = Field(None, description="wait (within the deadline) until this ingest sequence is indexed")


class Validity(Reply):
    """What the document says of its own standing, as written.

    ``superseded_by`` is the path of the document that took its place in the end, where one is known.
    """

    valid_from: str | None = None
    valid_until: str | None = None
    superseded_by: str | None = None
    supersedes: tuple[str, ...] = ()
    status: str | None = None


class Provenance(Reply):
    """Where a hit's text comes from, exactly. ``seq`` is the ingest sequence that it was indexed from."""

    content_hash: str
    commit: str | None
    indexed_at: datetime
    first_indexed_at: datetime
    seq: int = Field(validation_alias=AliasChoices("seq", AliasPath("position", "seq")))
    agent: str


class Hit(Reply):
    """One passage. ``lines`` are 1-based and inclusive; ``confidence`` is None where nothing is calibrated.

    ``verdict`` is ok, unverified (valid, but nothing is calibrated), or why it must not be believed, which ``reason``
    says in words. ``stands_for`` is the path of a superseded document that was found and whose place this one takes.
    """

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
    reason: str = ""
    stands_for: str | None = None
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
    """How far the index is behind the disk. ``stale`` counts files known to differ that are not yet queued.

    ``aged``: nothing was indexed for longer than ``trust.stale_after_hours``.
    """

    newest_indexed_at: datetime | None
    pending: int
    failed: int
    stale: int
    aged: bool = False


class SearchReply(Reply):
    """The answer to a search. ``abstained`` means that nothing trustworthy was found, and ``reason`` why.

    ``hits`` are those that may be believed, best first, ``withheld`` those that must not; a request for ``all`` gets
    the latter at the end of ``hits``. ``gap_warning``: the memory probably knows nothing of this.
    """

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
    withheld: tuple[Hit, ...] = ()
