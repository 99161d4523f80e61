"""``sessions`` and ``episodes``: conversations, and the answers that are remembered."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

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
