"""``sessions`` and ``episodes``: conversations, and the answers that are remembered."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from recalld.bus.wire.ask import Citation, SessionId
from recalld.bus.wire.base import Reply, Request


class SessionsRequest(Request):
    """List the caller's sessions, or show the last ``limit`` messages of one."""

    id: SessionId | None = None
    limit: Annotated[int, Field(ge=1, le=1_000)] = 50


class SessionEditRequest(Request):
    """Create, rename or delete a session of the caller's."""

    action: Literal["create", "rename", "delete"]
    id: SessionId | None = Field(None, description="needed but to create, where one is made")
    title: Annotated[str, Field(max_length=200)] = ""


class MessageView(Reply):
    """What was said; ``standalone`` is what a follow-up question was taken to mean."""

    number: int
    role: str
    text: str
    standalone: str
    receipt: str
    at: datetime


class SessionView(Reply):
    """A conversation; ``messages`` counts what was said in it."""

    id: str
    title: str
    created_at: datetime
    updated_at: datetime
    messages: int


class SessionsReply(Reply):
    """Sessions, the one used last first; of one asked for by id, its messages."""

    sessions: tuple[SessionView, ...]
    said: tuple[MessageView, ...] = ()


class EpisodesRequest(Request):
    """List the newest answers that the caller was given and that are remembered, or show one."""

    id: Annotated[int, Field(ge=1)] | None = None
    ended: bool = Field(False, description="those that are served no longer, too")
    limit: Annotated[int, Field(ge=1, le=1_000)] = 20


class EpisodeMarkRequest(Request):
    """Say what became of a remembered answer: it ``helped``, it ``failed``, or it is to be forgotten."""

    id: Annotated[int, Field(ge=1)]
    outcome: Literal["helped", "failed", "forget"]


class EpisodeView(Reply):
    """A remembered answer. ``ended`` is why it is served no longer, empty while it may be."""

    id: int
    question: str
    answer: str
    scope: str
    answerer: str
    confidence: float | None
    negative: bool
    agent: str
    at: datetime
    served: int
    helped: int
    failed: int
    corrected: int
    last_served_at: datetime | None
    ended_at: datetime | None
    ended: str
    citations: tuple[Citation, ...] = ()


class EpisodesReply(Reply):
    """Remembered answers, newest first. ``standing`` and ``over`` count all that there are."""

    episodes: tuple[EpisodeView, ...]
    standing: int = 0
    over: int = 0


class PairLabel(BaseModel):
    """Two questions, and whether the answer to the first fully answers the second."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    topic: Annotated[str, Field(min_length=1, max_length=200)]
    first: Annotated[str, Field(min_length=1, max_length=2_000)]
    second: Annotated[str, Field(min_length=1, max_length=2_000)]
    relation: Literal["paraphrase", "near_miss", "scope_mismatch", "negated", "unrelated"]
    serve: bool


class CalibrateEpisodesRequest(Request):
    """Fit now: to ``pairs``, or without any to those that come with the project. ``dry_run`` keeps nothing."""

    pairs: Annotated[tuple[PairLabel, ...], Field(max_length=5_000)] = ()
    dry_run: bool = False


class EpisodeFitReport(Reply):
    """How a fit fares: shares of the pairs that are not one question and are served (``false_hits``), and of those that
    are (``served``), on the topics that were fitted on and on those held back."""

    pairs: int
    held_back: int
    topics: tuple[str, ...]
    held_topics: tuple[str, ...]
    false_hits: float
    served: float
    held_false_hits: float
    held_served: float
    auc: float
    held_auc: float


class SweepView(Reply):
    """What would be served from one threshold on."""

    threshold: float
    false_hits: float
    served: float
    held_false_hits: float
    held_served: float


class CalibrateEpisodesReply(Reply):
    """What was fitted, and the sweep that its threshold was chosen from."""

    embedder: str
    fitted_at: datetime
    kept: bool
    threshold: float
    report: EpisodeFitReport
    sweep: tuple[SweepView, ...]


class EpisodesTidyRequest(Request):
    """Look through all remembered answers: end junk and what is beyond the cap. ``merge`` ends near-duplicates, too."""

    merge: bool = False


class DuplicateView(Reply):
    """Two answers to one question: the id to keep, and the one that it makes needless."""

    keep: int
    needless: int
    similarity: float
    questions: tuple[str, str]


class EpisodesTidyReply(Reply):
    """What was ended, by why; ``ended`` counts old ones that were dropped; ``duplicates`` are those that were found."""

    junk: int
    merged: int
    excess: int
    ended: int
    sessions: int
    duplicates: tuple[DuplicateView, ...]
