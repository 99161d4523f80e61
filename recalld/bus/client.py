"""The client: what agents, the command line and the dashboard ask a daemon with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import pydantic

from recalld.bus import events, subjects, wire
from recalld.bus.calls import PATIENCE_S, call
from recalld.bus.connection import Address, Connection, open_connection
from recalld.bus.parts import streamed
from recalld.bus.services import services
from recalld.errors import DependencyError, UnreachableError, UsageError

DEADLINE_S = 30.0
LONG_DEADLINE_S = 600.0
ASK_DEADLINE_S = 120.0
"""A language model takes its time (seconds)."""

Req = TypeVar("Req", bound=wire.Request)
Rep = TypeVar("Rep", bound=wire.Reply)


class RecallClient:
    """An agent's connection to a daemon; an async context manager.

    Each method takes its request, or the request's fields as keywords, and returns the reply. It raises the named
    error that the daemon sent (NotFoundError, RefusedError, UsageError, BusyError ...), UnreachableError when nobody
    answers within ``patience_s`` seconds, DeadlineError when the answer takes longer than the request's
    ``deadline_ms`` (default: ``deadline_s``).
    """

    def __init__(
        self,
        url: str,
        *,
        user: str | None = None,
        password: str | None = None,
        credentials_file: Path | None = None,
        agent: str = "cli",
        deadline_s: float = DEADLINE_S,
        patience_s: float = PATIENCE_S,
    ) -> None:
        """Raise UsageError when ``agent`` is no name that can stand in a subject."""
        if not subjects.is_token(agent):
            raise UsageError(f"{agent!r} is not an agent name", suggestion="use 1 to 64 letters, digits, - and _")
        self._address = Address((url,), user, password, credentials_file)
        self._agent = agent
        self._deadline_s = deadline_s
        self._patience_s = patience_s
        self._connection: Connection | None = None

    async def __aenter__(self) -> Self:
        try:
            self._connection = await open_connection(
                self._address,
                name=f"recall {self._agent}",
                inbox=f"_INBOX.{self._agent}",
                patience_s=self._patience_s,
            )
        except DependencyError as error:
            raise UnreachableError(error.message, suggestion="is a daemon running? start one: `recalld run`") from error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._connection is not None:
            await self._connection.aclose()
            self._connection = None

    @property
    def is_up(self) -> bool:
        """Tell whether there is a server to talk to right now."""
        return self._connection is not None and self._connection.is_up

    async def search(self, request: wire.SearchRequest | str | None = None, **fields: Any) -> wire.SearchReply:
        """Find the passages that best answer a query."""
        return await self._ask("search", _of(wire.SearchRequest, request, "query", fields), wire.SearchReply)

    async def ask(self, request: wire.AskRequest | str | None = None, **fields: Any) -> wire.AskReply:
        """Answer a question, from memory where an earlier answer still stands."""
        return await self._ask("ask", _of(wire.AskRequest, request, "query", fields), wire.AskReply, ASK_DEADLINE_S)

    @asynccontextmanager
    async def asking(
        self, request: wire.AskRequest | str | None = None, **fields: Any
    ) -> AsyncIterator[AsyncIterator[wire.AskPart | wire.AskReply]]:
        """Give an answer in parts as it is written, then whole: ``async with client.asking(...) as parts``.

        Leaving early calls the work off.
        """
        body = _of(wire.AskRequest, request, "query", fields).model_copy(update={"stream": True})
        subject = subjects.request(self._agent, "ask")
        async with streamed(self._open(), subject, body, wire.AskPart, wire.AskReply, ASK_DEADLINE_S) as parts:
            yield parts

    async def evidence(self, request: wire.EvidenceRequest | str | None = None, **fields: Any) -> wire.EvidenceReply:
        """Assemble the passages that an answer may rely on, under a budget of tokens."""
        return await self._ask("evidence", _of(wire.EvidenceRequest, request, "query", fields), wire.EvidenceReply)

    async def sessions(self, request: wire.SessionsRequest | str | None = None, **fields: Any) -> wire.SessionsReply:
        """List this agent's conversations, or show one."""
        return await self._ask("sessions", _of(wire.SessionsRequest, request, "id", fields), wire.SessionsReply)

    async def sessions_edit(self, request: wire.SessionEditRequest | None = None, **fields: Any) -> wire.SessionsReply:
        """Create, rename or delete a conversation."""
        body = _of(wire.SessionEditRequest, request, "", fields)
        return await self._ask("sessions.edit", body, wire.SessionsReply, repeatable=False)

    async def episodes(self, request: wire.EpisodesRequest | None = None, **fields: Any) -> wire.EpisodesReply:
        """List the answers that are remembered of this agent, or show one."""
        return await self._ask("episodes", _of(wire.EpisodesRequest, request, "", fields), wire.EpisodesReply)

    async def episodes_tidy(
        self, request: wire.EpisodesTidyRequest | None = None, **fields: Any
    ) -> wire.EpisodesTidyReply:
        """Look through the remembered answers of all agents."""
        body = _of(wire.EpisodesTidyRequest, request, "", fields)
        return await self._ask("episodes.tidy", body, wire.EpisodesTidyReply, LONG_DEADLINE_S, repeatable=False)

    async def episodes_mark(self, request: wire.EpisodeMarkRequest | None = None, **fields: Any) -> wire.EpisodesReply:
        """Say what became of a remembered answer."""
        body = _of(wire.EpisodeMarkRequest, request, "", fields)
        return await self._ask("episodes.mark", body, wire.EpisodesReply, repeatable=False)

    async def get(self, request: wire.GetRequest | str | None = None, **fields: Any) -> wire.GetReply:
        """Fetch one document whole, by path, ``repo:path`` or a hit's id."""
        return await self._ask("get", _of(wire.GetRequest, request, "ref", fields), wire.GetReply)

    async def lineage(self, request: wire.LineageRequest | str | None = None, **fields: Any) -> wire.LineageReply:
        """Say what replaced what around a document."""
        return await self._ask("lineage", _of(wire.LineageRequest, request, "ref", fields), wire.LineageReply)

    async def receipts(self, request: wire.ReceiptsRequest | None = None, **fields: Any) -> wire.ReceiptsReply:
        """Say whether answers that this agent was given still stand."""
        return await self._ask("receipts", _of(wire.ReceiptsRequest, request, "", fields), wire.ReceiptsReply)

    async def preflight(self, request: wire.PreflightRequest | str | None = None, **fields: Any) -> wire.PreflightReply:
        """Say what to check before an act."""
        return await self._ask("preflight", _of(wire.PreflightRequest, request, "text", fields), wire.PreflightReply)

    async def brief(self, request: wire.BriefRequest | None = None, **fields: Any) -> wire.BriefReply:
        """Say what to know at a beginning: how fresh the memory is, and the rules that stand."""
        return await self._ask("brief", _of(wire.BriefRequest, request, "", fields), wire.BriefReply)

    async def supersede(self, request: wire.SupersedeRequest | None = None, **fields: Any) -> wire.SupersedeReply:
        """Record that one document replaced another."""
        body = _of(wire.SupersedeRequest, request, "", fields)
        return await self._ask("supersede", body, wire.SupersedeReply, repeatable=False)

    async def check(self, request: wire.CheckRequest | None = None, **fields: Any) -> wire.CheckReply:
        """Say what a memo that is about to be saved replaces, repeats or contradicts."""
        return await self._ask("check", _of(wire.CheckRequest, request, "", fields), wire.CheckReply)

    async def stats(self, request: wire.StatsRequest | None = None, **fields: Any) -> wire.StatsReply:
        """Say what is indexed and what is under way."""
        return await self._ask("stats", _of(wire.StatsRequest, request, "", fields), wire.StatsReply)

    async def health(self, request: wire.HealthRequest | None = None, **fields: Any) -> wire.HealthReply:
        """Say whether the node that answers is well."""
        return await self._ask("health", _of(wire.HealthRequest, request, "", fields), wire.HealthReply)

    async def reindex(self, request: wire.ReindexRequest | None = None, **fields: Any) -> wire.ReindexReply:
        """Compare disk with index now; returns when all was published, which can take minutes."""
        body = _of(wire.ReindexRequest, request, "", fields)
        return await self._ask("reindex", body, wire.ReindexReply, LONG_DEADLINE_S, repeatable=False)

    async def repo_add(self, request: wire.RepoAddRequest | str | None = None, **fields: Any) -> wire.RepoReply:
        """Watch a directory."""
        body = _of(wire.RepoAddRequest, request, "path", fields)
        return await self._ask("repo.add", body, wire.RepoReply, repeatable=False)

    async def repo_list(self, request: wire.RepoListRequest | None = None, **fields: Any) -> wire.RepoListReply:
        """List the repos."""
        return await self._ask("repo.list", _of(wire.RepoListRequest, request, "", fields), wire.RepoListReply)

    async def repo_remove(self, request: wire.RepoRemoveRequest | str | None = None, **fields: Any) -> wire.RepoReply:
        """Stop watching a repo and drop it from the index."""
        body = _of(wire.RepoRemoveRequest, request, "name", fields)
        return await self._ask("repo.remove", body, wire.RepoReply, LONG_DEADLINE_S, repeatable=False)

    async def forget(self, request: wire.ForgetRequest | str | None = None, **fields: Any) -> wire.ForgetReply:
        """Keep a document out of the index, or let it back in."""
        body = _of(wire.ForgetRequest, request, "ref", fields)
        return await self._ask("forget", body, wire.ForgetReply, repeatable=False)

    async def delta(self, request: wire.DeltaRequest | None = None, **fields: Any) -> wire.DeltaReply:
        """List what changed in the index since a cursor."""
        return await self._ask("delta", _of(wire.DeltaRequest, request, "", fields), wire.DeltaReply)

    async def calibrate(self, request: wire.CalibrateRequest | None = None, **fields: Any) -> wire.CalibrateReply:
        """Learn anew how sure the memory may be, from labelled questions or from probes of its own."""
        body = _of(wire.CalibrateRequest, request, "", fields)
        return await self._ask("calibrate", body, wire.CalibrateReply, LONG_DEADLINE_S, repeatable=False)

    async def calibrate_episodes(
        self, request: wire.CalibrateEpisodesRequest | None = None, **fields: Any
    ) -> wire.CalibrateEpisodesReply:
        """Learn anew how sure it may be that an earlier answer fits a question."""
        body = _of(wire.CalibrateEpisodesRequest, request, "", fields)
        reply = wire.CalibrateEpisodesReply
        return await self._ask("calibrate.episodes", body, reply, LONG_DEADLINE_S, repeatable=False)

    async def jobs(self, request: wire.JobsRequest | str | None = None, **fields: Any) -> wire.JobsReply:
        """List the jobs, when they run, and their runs."""
        return await self._ask("jobs", _of(wire.JobsRequest, request, "name", fields), wire.JobsReply)

    async def jobs_run(self, request: wire.JobsRunRequest | str | None = None, **fields: Any) -> wire.JobRunReply:
        """Run a job now, on whichever node takes it; returns when it was asked for."""
        body = _of(wire.JobsRunRequest, request, "name", fields)
        return await self._ask("jobs.run", body, wire.JobRunReply, repeatable=body.key is not None)

    async def jobs_cancel(self, request: wire.JobsCancelRequest | None = None, **fields: Any) -> wire.JobRunReply:
        """Call off a run of a job."""
        body = _of(wire.JobsCancelRequest, request, "", fields)
        return await self._ask("jobs.cancel", body, wire.JobRunReply)

    async def learn(self, request: wire.LearnRequest | None = None, **fields: Any) -> wire.LearnReply:
        """Write a lesson, or have one seen again that is there already."""
        body = _of(wire.LearnRequest, request, "", fields)
        return await self._ask("learn", body, wire.LearnReply, repeatable=False)

    async def mark(self, request: wire.MarkRequest | None = None, **fields: Any) -> wire.MarkReply:
        """Say whether a guardrail helped."""
        return await self._ask("mark", _of(wire.MarkRequest, request, "", fields), wire.MarkReply, repeatable=False)

    async def lessons(self, request: wire.LessonsRequest | None = None, **fields: Any) -> wire.LessonsReply:
        """List lessons."""
        return await self._ask("lessons", _of(wire.LessonsRequest, request, "", fields), wire.LessonsReply)

    async def review(self, request: wire.ReviewRequest | None = None, **fields: Any) -> wire.ReviewReply:
        """Accept, reject, pin or unpin a lesson."""
        body = _of(wire.ReviewRequest, request, "", fields)
        return await self._ask("review", body, wire.ReviewReply, repeatable=False)

    async def audit(self, request: wire.AuditRequest | None = None, **fields: Any) -> wire.AuditReply:
        """Say how procedural memory fares."""
        return await self._ask("audit", _of(wire.AuditRequest, request, "", fields), wire.AuditReply, LONG_DEADLINE_S)

    async def prune(self, request: wire.PruneRequest | None = None, **fields: Any) -> wire.PruneReply:
        """Say which lessons may be put away, or put them away."""
        body = _of(wire.PruneRequest, request, "", fields)
        return await self._ask("prune", body, wire.PruneReply, LONG_DEADLINE_S, repeatable=False)

    async def consolidate(self, request: wire.ConsolidateRequest | None = None, **fields: Any) -> wire.ConsolidateReply:
        """Say which lessons say the same, or merge some."""
        body = _of(wire.ConsolidateRequest, request, "", fields)
        return await self._ask("consolidate", body, wire.ConsolidateReply, LONG_DEADLINE_S, repeatable=False)

    async def maintain(self, request: wire.MaintainRequest | None = None, **fields: Any) -> wire.MaintainReply:
        """Run one pass of maintenance."""
        body = _of(wire.MaintainRequest, request, "", fields)
        return await self._ask("maintain", body, wire.MaintainReply, LONG_DEADLINE_S, repeatable=False)

    async def undo(self, request: wire.UndoRequest | str | None = None, **fields: Any) -> wire.UndoReply:
        """Undo a run, or list the newest."""
        body = _of(wire.UndoRequest, request, "run", fields)
        return await self._ask("undo", body, wire.UndoReply, LONG_DEADLINE_S, repeatable=False)

    async def put(self, request: wire.PutRequest | str | None = None, **fields: Any) -> wire.PutReply:
        """Put a document in: a URL, or bytes that fit into a request or were handed over before (:meth:`put_part`)."""
        body = _of(wire.PutRequest, request, "source", fields)
        return await self._ask("put", body, wire.PutReply, LONG_DEADLINE_S, repeatable=False)

    async def put_part(self, request: wire.PutPartRequest | None = None, **fields: Any) -> wire.PutPartReply:
        """Hand over a part of a document's bytes."""
        return await self._ask("put.part", _of(wire.PutPartRequest, request, "", fields), wire.PutPartReply)

    async def documents(self, request: wire.DocumentsRequest | None = None, **fields: Any) -> wire.DocumentsReply:
        """List the documents that were put in."""
        return await self._ask("documents", _of(wire.DocumentsRequest, request, "", fields), wire.DocumentsReply)

    async def documents_remove(
        self, request: wire.DocumentsRemoveRequest | str | None = None, **fields: Any
    ) -> wire.DocumentsRemoveReply:
        """Remove a put document's file."""
        body = _of(wire.DocumentsRemoveRequest, request, "ref", fields)
        return await self._ask("documents.remove", body, wire.DocumentsRemoveReply, repeatable=False)

    async def services(self) -> tuple[wire.ServiceView, ...]:
        """Ask every serving node how its verbs have fared. Raises RefusedError where this agent may not ask."""
        return await services(self._open(), self._patience_s)

    async def events(self, request: wire.EventsRequest | None = None, **fields: Any) -> wire.EventsReply:
        """Read the event history."""
        return await self._ask("events", _of(wire.EventsRequest, request, "", fields), wire.EventsReply)

    @asynccontextmanager
    async def follow(self, topic: str | None = None) -> AsyncIterator[AsyncIterator[wire.Event]]:
        """Give the events of a topic (and those below it) from now on: ``async with client.follow() as events``."""
        async with events.follow(self._open(), topic) as stream:
            yield stream

    async def _ask(
        self,
        verb: str,
        request: wire.Request,
        reply: type[Rep],
        deadline_s: float | None = None,
        repeatable: bool = True,
    ) -> Rep:
        return await call(
            self._open(),
            subjects.request(self._agent, verb),
            request,
            reply,
            deadline_s=deadline_s or self._deadline_s,
            patience_s=self._patience_s,
            repeatable=repeatable,
        )

    def _open(self) -> Connection:
        if self._connection is None:
            raise UsageError("the client is not connected", suggestion="use it with `async with`")
        return self._connection


def _of(model: type[Req], request: Req | str | None, main: str, fields: dict[str, Any]) -> Req:
    """Return the request, made of its fields where it is not given whole. Raises UsageError for wrong ones."""
    if isinstance(request, model):
        if fields:
            raise UsageError("give a request or its fields, not both")
        return request
    given = {main: request, **fields} if request is not None else fields
    try:
        return model.model_validate(given)
    except pydantic.ValidationError as error:
        fault = error.errors()[0]
        raise UsageError(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}") from error
