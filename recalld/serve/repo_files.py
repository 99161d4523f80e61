"""Files of repos as the verbs change them: on the node that has the disk, and looked at again at once."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

import anyio

from recalld.bus import wire
from recalld.errors import NotFoundError, RecalldError, RefusedError, UsageError
from recalld.model import Repo
from recalld.store import Store
from recalld.watch.changing import Change, Move

log = logging.getLogger(__name__)

Scan = Callable[[Repo, wire.ReindexRequest], Awaitable[wire.ScanReport]]


class Files(Protocol):
    """Changes and reads files, wherever their repo is."""

    async def change(self, repo: Repo, changes: Sequence[Change]) -> None: ...
    async def read(self, repo: Repo, paths: Sequence[str], *, large: bool = False) -> dict[str, bytes]: ...


@dataclass(slots=True)
class RepoFiles:
    """Changes files and has the index follow. ``newest_seq`` is the last sequence of the ingest stream."""

    store: Store
    files: Files
    scan: Scan
    newest_seq: Callable[[], Awaitable[int]]
    _turn: anyio.Lock = field(default_factory=anyio.Lock)

    @asynccontextmanager
    async def turn(self, repo: Repo) -> AsyncIterator[None]:
        """Be the only one, on all nodes, that changes lessons or documents of a repo.

        One at a time in this process: whoever has a turn holds a connection, and needs others while it lasts.
        """
        async with self._turn, self.store.lessons.turn(repo.id):
            yield

    async def read(self, repo: Repo, paths: Sequence[str], *, large: bool = False) -> dict[str, bytes]:
        """Return the bytes of those files that are there and plain; those over 512 KiB where ``large`` are wanted."""
        return await self.files.read(repo, paths, large=large) if paths else {}

    async def change(self, repo: Repo, changes: Sequence[Change]) -> int:
        """Make changes, all or none, and have them looked at; a search with that ``min_seq`` sees them.

        Raises RefusedError, UsageError, DependencyError, UnreachableError, each before anything was changed.
        """
        await self.files.change(repo, changes)
        paths = dict.fromkeys(path for each in changes for path in _paths(each))
        try:
            for path in paths:
                await self.scan(repo, wire.ReindexRequest(repo=repo.name, path=path))
            return await self.newest_seq()
        except RecalldError as error:
            log.warning("%s was changed, and is indexed when its node gets to it: %s", repo.name, error.message)
            return 0

    async def repos(self, agent: str | None, name: str | None) -> list[Repo]:
        """Return the repos that an agent may see (None: all), or the one that it names. Raises NotFoundError."""
        found = [
            repo
            for repo in await self.store.repos.list()
            if name in (None, repo.name) and (agent is None or not repo.visible_to or agent in repo.visible_to)
        ]
        if name is not None and not found:
            raise NotFoundError(f"no repo {name}", suggestion="`recall repo list` names them")
        return found

    async def writable(self, agent: str, name: str | None) -> Repo:
        """Return the repo that is named, or the only one that can be meant.

        Raises NotFoundError, RefusedError for a read-only one, UsageError where several could be meant.
        """
        repos = await self.repos(agent, name)
        if name is not None and repos[0].read_only:
            raise RefusedError(f"{name} is read-only", suggestion="name a repo that recalld may write to")
        writable = [repo for repo in repos if not repo.read_only]
        if not writable:
            raise NotFoundError("there is no repo that can be written to", suggestion="`recall repo add DIR`")
        if len(writable) > 1:
            names = ", ".join(repo.name for repo in writable)
            raise UsageError(f"several repos could be meant: {names}", suggestion="name one with --repo")
        return writable[0]


def _paths(each: Change) -> tuple[str, ...]:
    return (each.path, each.to) if isinstance(each, Move) else (each.path,)
