"""``jobs``, ``jobs.run`` and ``jobs.cancel``: what runs by the clock, now, and before."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from recalld.bus.wire.base import Reply, Request

JobState = Literal["queued", "running", "done", "failed", "timed_out", "cancelled", "lost"]
ENDED = ("done", "failed", "timed_out", "cancelled")
"""States that a run stays in."""


class JobsRequest(Request):
    """Ask for the schedule and the newest ``limit`` runs, of one job by ``name``, or for the one run ``id``."""

    name: str | None = None
    id: int | None = None
    limit: Annotated[int, Field(ge=0, le=1_000)] = 20


class JobRunView(Reply):
    """A run of a job in one slot: its planned time, or ``manual-...``.

    ``share`` (0 to 1) and ``words`` are how far it is; ``attempt`` counts its starts. A run that is ``lost`` is of a
    node that went silent, and is run again; one that is ``queued`` with an ``error`` is tried again.
    """

    id: int
    name: str
    slot: str
    state: JobState
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
    result: dict[str, Any]
    error: str
    cancelled_by: str


class JobView(Reply):
    """A job: ``when`` as the answering node's settings say (empty: never by the clock), its next slot, its last run."""

    name: str
    when: str
    next_at: datetime | None
    timeout_s: float
    last: JobRunView | None


class JobsReply(Reply):
    """The jobs by name, runs from the newest to the oldest, and how many requests wait or are worked on."""

    jobs: tuple[JobView, ...]
    runs: tuple[JobRunView, ...]
    unsettled: int


class JobsRunRequest(Request):
    """Run a job now. Equal ``key`` means the same run, however often it is asked for (default: a new one)."""

    name: str
    key: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,57}$")] | None = None


class JobsCancelRequest(Request):
    """Call off a run: one that waits is cancelled at once, one that runs is told to stop within a second or two."""

    id: int


class JobRunReply(Reply):
    """The run that was asked for or called off, as it is now."""

    run: JobRunView
