"""The index as a watching node sees it: over the bus, without a database of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from recalld.bus import internal, subjects, wire
from recalld.bus.calls import call
from recalld.bus.connection import Connection
from recalld.errors import BusyError, DependencyError, TooLargeError
from recalld.model import DocumentState, FileStat, Finding, ManifestEntry, Position

PAGE = 2_000
REQUEST_BYTES = 48 * 1024
"""What a request's lists may take up: the servers' default limit is 64 KiB."""
DEADLINE_S = 20.0

R = TypeVar("R", bound=wire.Reply)
T = TypeVar("T")


class RemoteIndex:
    """Implements the watcher's ``ManifestSource`` and ``Observer`` by the verbs ``manifest`` and ``observe``."""

    def __init__(self, connection: Connection, node: str) -> None:
        self._connection = connection
        self._node = node

    async def manifest(self, repo: str) -> Mapping[str, ManifestEntry]:
        """Return every row of a repo by path, tombstones included."""
        found: dict[str, ManifestEntry] = {}
        after: str | None = None
        limit = PAGE
        while True:
            try:
                page = await self._manifest(internal.ManifestRequest(repo=repo, after=after, limit=limit))
            except TooLargeError:
                if limit == 1:
                    raise
                limit = max(1, limit // 4)
                continue
            found.update((entry[0], _entry(entry)) for entry in page.entries)
            if page.next is None:
                return found
            after = page.next

    async def entries(self, repo: str, paths: Sequence[str]) -> Mapping[str, ManifestEntry]:
        """Return the rows of any number of paths; a path that was never known is left out."""
        found: dict[str, ManifestEntry] = {}
        portions = split(paths, len, PAGE)
        while portions:
            portion = portions.pop()
            request = internal.ManifestRequest(repo=repo, paths=tuple(portion), limit=max(1, len(portion)))
            try:
                page = await self._manifest(request)
            except TooLargeError:
                if len(portion) == 1:
                    raise
                middle = len(portion) // 2
                portions += [portion[:middle], portion[middle:]]
                continue
            found.update((entry[0], _entry(entry)) for entry in page.entries)
        return found

    async def observe(
        self,
        repo: str,
        *,
        state: str | None = None,
        commit: str | None = None,
        scanned_at: datetime | None = None,
        findings: Sequence[Finding] = (),
        cleared: Sequence[str] = (),
        complete: bool = False,
    ) -> None:
        """Store a report; a long one goes in several requests, the one that drops the others' findings first."""
        told = split(
            [wire.FindingView.model_validate(finding) for finding in findings],
            lambda view: len(view.model_dump_json()),
            PAGE,
        )
        gone = split(cleared, len, PAGE)
        requests = [
            internal.ObserveRequest(
                repo=repo,
                state=state,
                commit=commit,
                scanned_at=scanned_at,
                findings=tuple(told[0]) if told else (),
                complete=complete,
            )
        ]
        requests += [internal.ObserveRequest(repo=repo, findings=tuple(portion)) for portion in told[1:]]
        requests += [internal.ObserveRequest(repo=repo, cleared=tuple(portion)) for portion in gone]
        for request in requests:
            await self._ask("observe", request, internal.ObserveReply)

    async def _manifest(self, request: internal.ManifestRequest) -> internal.ManifestReply:
        return await self._ask("manifest", request, internal.ManifestReply)

    async def _ask(self, verb: str, request: wire.Request, reply: type[R]) -> R:
        subject = subjects.request(self._node, verb)
        try:
            return await call(self._connection, subject, request, reply, deadline_s=DEADLINE_S, repeatable=True)
        except BusyError as error:
            raise DependencyError(error.message, suggestion=error.suggestion) from error


def split(items: Sequence[T], size: Callable[[T], int], most: int) -> list[list[T]]:
    """Return the items in portions that fit into a request each."""
    portions: list[list[T]] = []
    used = 0
    for item in items:
        needed = 2 * size(item) + 3
        if not portions or used + needed > REQUEST_BYTES or len(portions[-1]) >= most:
            portions.append([])
            used = 0
        portions[-1].append(item)
        used += needed
    return portions


def _entry(row: tuple[str, DocumentState, str, tuple[int, int, int, int] | None, int, int]) -> ManifestEntry:
    path, state, content_hash, stat, epoch, seq = row
    return ManifestEntry(path, state, content_hash, FileStat(*stat) if stat else None, Position(epoch, seq))
