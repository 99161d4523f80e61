"""``ask`` and ``evidence``: an answer with what it relies on, and the passages for an answer of one's own."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from recalld.bus.wire.base import Reply
from recalld.bus.wire.search import FilterFields, Freshness, TraceStage
from recalld.model import Mode, State

Query = Annotated[str, Field(min_length=1, max_length=8_000)]
SessionId = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_.-]+$")]


class CircumstanceFields(FilterFields):
    """What an answer depends on beside the question: filters, the two clocks, how it is searched for."""

    mode: Mode | None = None
    as_of: datetime | None = Field(None, description="what was valid then (default: now)")
    known_as_of: datetime | None = Field(None, description="by what the memory knew then (default: all it knows)")
    min_seq: int | None = Field(None, description="wait (within the deadline) until this ingest sequence is indexed")


class AskRequest(CircumstanceFields):
    """Ask a question. ``stream`` has words and steps sent to the reply inbox before the reply."""

    query: Query
    session: SessionId | None = Field(None, description="a conversation, whose history follow-up questions see")
    fresh: bool = Field(False, description="derive the answer anew, whatever memory has")
    stream: bool = False
    budget: Annotated[int, Field(ge=64, le=32_000)] | None = Field(None, description="tokens of evidence at most")
    trace: bool = False
    receipt: bool = Field(True, description="false where nobody relies on the answer: then no receipt is kept")


class AskPart(Reply):
    """A piece of an answer on its way: words, or the name of the step that has begun; neither: it is still at it."""

    text: str = ""
    step: str = ""


class Citation(Reply):
    """A passage that an answer cites as ``[number]``, as it was when the answer was derived."""

    number: int
    id: str
    repo: str
    path: str
    title: str
    heading: tuple[str, ...]
    lines: tuple[int, int]
    text: str
    verdict: str
    confidence: float | None
    content_hash: str


class PathStep(Reply):
    """A step that a question took: its name, milliseconds, and how it went."""

    step: str
    took_ms: float
    note: str = ""


class AskReply(Reply):
    """An answer. ``source`` is ``memory``, ``retrieval``, ``reconciled`` (memory and retrieval were weighed against
    each other) or ``abstained``; ``reason`` says why there is none, or what the weighing said.

    ``standalone`` is the question as it was taken. ``negative``: the evidence says that it is not so. ``quoted``: made
    of quotes, by no model. ``confidence`` is that in what it relies on. ``memory_similarity`` and ``memory_confidence``
    are of the earlier question that was found, and ``stale`` is why its answer no longer stood. ``episode`` is the id
    to mark the answer by.
    """

    query: str
    standalone: str
    answer: str
    source: Literal["memory", "retrieval", "reconciled", "abstained"]
    abstained: bool
    reason: str
    negative: bool
    citations: tuple[Citation, ...]
    answerer: str
    quoted: bool
    confidence: float | None
    calibrated: bool | None
    memory_similarity: float | None
    memory_confidence: float | None
    stale: str
    scope: Literal["single", "set"]
    path: tuple[PathStep, ...]
    state: State
    notes: tuple[str, ...]
    session: str | None
    receipt: str
    episode: str | None
    freshness: Freshness
    took_ms: float
    trace: tuple[TraceStage, ...] | None = None


class EvidenceRequest(CircumstanceFields):
    """Ask for the passages that an answer may rely on, within ``budget`` tokens as the answerer counts them."""

    query: Query
    budget: Annotated[int, Field(ge=64, le=32_000)] | None = None
    order: Literal["rank", "ends"] = Field("rank", description="best first, or the best at both ends")
    trace: bool = False
    receipt: bool = Field(True, description="false where nobody relies on the evidence: then no receipt is kept")


class PassageView(Citation):
    """An admitted passage; ``cut`` where only its first sentences fit."""

    cut: bool


class DroppedView(Reply):
    """A passage that was left out: ``why`` is ``duplicate``, ``budget`` or ``metadata``."""

    id: str
    repo: str
    path: str
    lines: tuple[int, int]
    why: str
    reason: str


class EvidenceReply(Reply):
    """Evidence. ``stance`` is ``none``, ``supports``, or ``negative``: it is not so, and the evidence says it.

    ``text`` is the passages as a model reads them, labels included, ``tokens`` of ``budget`` long.
    """

    query: str
    stance: Literal["none", "supports", "negative"]
    abstained: bool
    reason: str
    gap_warning: bool
    calibrated: bool
    text: str
    tokens: int
    budget: int
    counted_by: str
    passages: tuple[PassageView, ...]
    dropped: tuple[DroppedView, ...]
    state: State
    notes: tuple[str, ...]
    receipt: str
    freshness: Freshness
    took_ms: float
    trace: tuple[TraceStage, ...] | None = None
