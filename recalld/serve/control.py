"""The verbs ``reindex`` and ``events``: ask a watching node to look, and read what happened."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from recalld.bus import wire
from recalld.errors import NotFoundError, RecalldError, UsageError
from recalld.model import Repo
from recalld.store import Store

Scan = Callable[[Repo, wire.ReindexRequest], Awaitable[wire.ScanReport]]
"""Has the repo's watching node compare disk with index."""
History = Callable[[int | None, int, str | None], Awaitable[Sequence[wire.Event]]]
"""Reads the event stream: since, limit, topic."""


@dataclass(slots=True)
class ControlVerbs:
    """Reaches the watching nodes and the event stream."""

    store: Store
    scan: Scan
    history: History

    async def reindex(self, agent: str, request: wire.ReindexRequest) -> wire.ReindexReply:
        """Scan one repo or all; a repo that cannot be scanned says so in its own report."""
        if request.path is not None and request.repo is None:
            raise UsageError("a path needs its repo", suggestion="add --repo")
        repos = [repo for repo in await self.store.repos.list() if request.repo in (None, repo.name)]
        if not repos and request.repo is not None:
            raise NotFoundError(f"no repo {request.repo}", suggestion="`recall repo list` names them")
        return wire.ReindexReply(reports=tuple([await self._report(repo, request) for repo in repos]))

    async def _report(self, repo: Repo, request: wire.ReindexRequest) -> wire.ScanReport:
        try:
            return await self.scan(repo, request)
        except RecalldError as error:
            body = wire.ErrorBody(code=error.code, message=error.message, suggestion=error.suggestion)
            return wire.ScanReport(repo=repo.name, error=body)

    async def events(self, agent: str, request: wire.EventsRequest) -> wire.EventsReply:
        """Return events, oldest first."""
        return wire.EventsReply(events=tuple(await self.history(request.since, request.limit, request.topic)))
