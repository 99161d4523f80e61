"""Which repos this node watches: those of its settings and those that anyone registered for it."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from itertools import chain, repeat
from typing import Protocol

import anyio

from recalld.errors import DeadlineError, DependencyError, RecalldError, UnreachableError
from recalld.model import Repo
from recalld.settings import RepoSettings

log = logging.getLogger(__name__)

REFRESH_S = 60.0
_RETRY_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_NOT_NOW = (UnreachableError, DependencyError, DeadlineError)


class Register(Protocol):
    """The register of repos, wherever it is kept. Its methods raise UnreachableError while nobody serves it."""

    async def add(self, repo: RepoSettings) -> None:
        """Register a repo of this node; one that is registered already stays as it is or is updated."""
        ...

    async def list(self) -> Sequence[Repo]:
        """Return the repos of this node."""
        ...

    def changes(self) -> AbstractAsyncContextManager[AsyncIterator[object]]:
        """Yield whenever the register may have changed; a hint, not the truth."""
        ...


class Watching(Protocol):
    """What the roster is kept for."""

    async def add(self, repo: Repo) -> None: ...
    async def remove(self, name: str) -> None: ...


class Roster:
    """Keeps a watcher's repos equal to the register's: on every hint, and every minute without one."""

    def __init__(self, register: Register, watching: Watching, refresh_s: float = REFRESH_S) -> None:
        self._register = register
        self._watching = watching
        self._refresh_s = refresh_s
        self._known: dict[str, Repo] = {}

    async def run(self, configured: Sequence[RepoSettings]) -> None:
        """Register ``configured``, then follow the register until cancelled."""
        async with self._register.changes() as changes:
            for repo in configured:
                await self.register(repo)
            await self._refresh_patiently()
            while True:
                with anyio.move_on_after(self._refresh_s):
                    await anext(changes)
                await self._refresh_patiently()

    async def register(self, repo: RepoSettings) -> None:
        """Register one repo of the settings, waiting until somebody serves the register."""
        for pause in _attempts():
            try:
                await self._register.add(repo)
                return
            except _NOT_NOW as error:
                log.info("repo %s is not registered yet: %s", repo.path, error.message)
                await anyio.sleep(pause)
            except RecalldError as error:
                log.error("repo %s of the settings cannot be registered: %s. %s", repo.path, error, error.suggestion)
                return

    async def _refresh_patiently(self) -> None:
        for pause in _attempts():
            try:
                await self._refresh()
                return
            except _NOT_NOW as error:
                log.info("the register of repos cannot be read yet: %s", error.message)
                await anyio.sleep(pause)

    async def _refresh(self) -> None:
        wanted = {repo.name: repo for repo in await self._register.list()}
        for name in [name for name, repo in self._known.items() if wanted.get(name) != repo]:
            await self._watching.remove(name)
            del self._known[name]
        for name, repo in wanted.items():
            if name not in self._known:
                await self._watching.add(repo)
                self._known[name] = repo


def _attempts() -> Iterator[float]:
    """Yield pauses (seconds) without end: the last one repeats."""
    return chain(_RETRY_S, repeat(_RETRY_S[-1]))
