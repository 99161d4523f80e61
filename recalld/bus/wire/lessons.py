"""The life of a lesson: learned, marked, reviewed, audited, put away, merged, and brought back."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from recalld.bus.wire.base import Reply, Request
from recalld.bus.wire.memos import Ref


class LearnRequest(Request):
    """What was learned: ``check`` is the line to look at before the next such act, ``body`` what happened and why.

    ``scope`` are globs of the files that it is about, ``trigger`` what shows that it applies (an error's text, say).
    ``proposed`` has it wait to be accepted; where the repo says so, it waits anyway.
    """

    title: Annotated[str, Field(min_length=1, max_length=200)]
    check: Annotated[str, Field(min_length=1, max_length=500)]
    body: Annotated[str, Field(max_length=16_384)] = ""
    repo: str | None = None
    scope: Annotated[tuple[Annotated[str, Field(min_length=1, max_length=200)], ...], Field(max_length=20)] = ()
    tags: Annotated[tuple[Annotated[str, Field(min_length=1, max_length=64)], ...], Field(max_length=20)] = ()
    trigger: Annotated[str, Field(max_length=1_000)] = ""
    proposed: bool = False


class LearnReply(Reply):
    """Where the lesson stands: ``created``, or ``recurred`` where the memory had it already.

    ``id`` is what ``mark`` takes. A search with ``min_seq`` = ``seq`` sees it.
    """

    repo: str
    path: str
    id: str
    status: str
    action: Literal["created", "recurred"]
    seen_count: int
    seq: int = 0


class MarkRequest(Request):
    """Whether a guardrail helped: its path, ``repo:path``, ``path#section``, or the id of a hit."""

    ref: Ref
    outcome: Literal["helped", "failed"]
    repo: str | None = None


class MarkReply(Reply):
    """What was marked, and how often it helped and failed by now."""

    repo: str
    id: str
    outcome: str
    helped: int
    failed: int


class UseView(Reply):
    """How often a guardrail was shown before an act, found by a search, marked, and learned again."""

    surfaced: int = 0
    retrieved: int = 0
    helped: int = 0
    failed: int = 0
    recurred: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None


class LessonsRequest(Request):
    """List lessons, all or those that wait to be accepted."""

    repo: str | None = None
    proposed: bool = False


class LessonView(Reply):
    """A lesson. ``machine_written`` is false where a person wrote it or changed what it says."""

    repo: str
    path: str
    title: str
    check: str
    status: str
    seen_count: int
    learned_by: str
    learned_at: datetime | None
    last_seen: datetime | None
    pinned: bool
    machine_written: bool
    use: UseView


class LessonsReply(Reply):
    """By repo and path."""

    lessons: tuple[LessonView, ...]


class ReviewRequest(Request):
    """Accept a proposed lesson, reject any (it is put away), or pin it, so that it is never put away."""

    ref: Ref
    action: Literal["accept", "reject", "pin", "unpin"]
    repo: str | None = None


class ReviewReply(Reply):
    """What was done; ``run`` undoes a rejection. ``changed`` is false where it stood so already."""

    repo: str
    path: str
    action: str
    changed: bool
    run: str = ""
    seq: int = 0


class AuditRequest(Request):
    """Ask how procedural memory fares: of one repo, or of all that the agent may see."""

    repo: str | None = None


class StaleView(Reply):
    """A file that no longer holds, though it is still there."""

    path: str
    kind: str
    verdict: str
    reason: str


class AuditView(Reply):
    """One repo's procedural memory: rules, skills and lessons.

    ``loaded_tokens`` is what a session reads that loads all of them whole; ``surfaced_tokens`` what was shown instead,
    in ``surfacings`` over ``days``. ``saving`` is the share that is not read, at one session a day; None where nothing
    was shown yet. Tokens are those of the embedder.
    """

    repo: str
    files: dict[str, int]
    never_used: tuple[str, ...]
    counted_since: datetime | None
    stale: tuple[StaleView, ...]
    duplicates: tuple[tuple[str, ...], ...]
    proposed: tuple[str, ...]
    loaded_tokens: int
    surfaced_tokens: int
    surfacings: int
    days: float
    saving: float | None


class AuditReply(Reply):
    """By repo."""

    repos: tuple[AuditView, ...]


class PruneRequest(Request):
    """Ask which lessons may be put away, or with ``apply`` put them away."""

    repo: str | None = None
    apply: bool = False


class KeptView(Reply):
    """A lesson that stays, and why."""

    path: str
    reason: str


class PruneView(Reply):
    """One repo: lessons that may go (or went, in run ``run``), oldest first, and those that stay."""

    repo: str
    proposed: tuple[str, ...]
    kept: tuple[KeptView, ...]
    run: str = ""
    seq: int = 0


class PruneReply(Reply):
    """By repo."""

    repos: tuple[PruneView, ...]


class ConsolidateRequest(Request):
    """Ask which lessons say the same; ``accept`` names groups to merge, as they were shown."""

    repo: str | None = None
    accept: Annotated[tuple[str, ...], Field(max_length=100)] = ()


class GroupView(Reply):
    """Lessons that say the same. ``merged`` is the text of the one that would take their place, ``diff`` what changes.

    ``why_not`` says why they cannot be merged by the daemon; empty where they can. ``run`` undoes the merge.
    """

    id: str
    repo: str
    paths: tuple[str, ...]
    into: str
    merged: str
    diff: str
    why_not: str = ""
    run: str = ""
    seq: int = 0


class ConsolidateReply(Reply):
    """The groups, or those that were merged."""

    groups: tuple[GroupView, ...]


class UndoRequest(Request):
    """Undo a run; without one, list the newest."""

    run: Annotated[str, Field(max_length=64)] | None = None
    repo: str | None = None


class RunView(Reply):
    """A run of prune, consolidate or a review: what it moved where, and what it made."""

    id: str
    repo: str
    kind: str
    at: datetime
    agent: str
    moves: tuple[tuple[str, str], ...]
    made: tuple[str, ...]
    undone_at: datetime | None


class UndoReply(Reply):
    """The run that was undone, or the newest runs."""

    runs: tuple[RunView, ...]
    seq: int = 0


class MaintainRequest(Request):
    """One pass over procedural memory."""

    repo: str | None = None


class StepView(Reply):
    """One step of a pass: what came of it, or why it failed."""

    name: str
    took_ms: float
    result: dict[str, Any]
    error: str = ""


class MaintainReply(Reply):
    """The steps in their order."""

    steps: tuple[StepView, ...]
