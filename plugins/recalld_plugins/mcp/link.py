"""The way to the daemon: one connection, opened when it is first needed and anew when the daemon has moved."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

from recalld.bus.client import RecallClient
from recalld.errors import DependencyError, UnreachableError


@dataclass(frozen=True, slots=True)
class Found:
    """A client, not yet connected; ``key`` differs where another is needed, ``node`` has this machine's files."""

    key: str
    node: str
    client: RecallClient


@dataclass(slots=True)
class _Held:
    key: str
    client: RecallClient
    users: int = 0
    retired: bool = False


class Link:
    """Shares one client among calls. ``find`` says where the daemon is, and raises UnreachableError where none is.

    A client whose daemon did not answer is not used again; it is closed when its last call has ended.
    """

    def __init__(self, find: Callable[[], Found]) -> None:
        self._find = find
        self._held: _Held | None = None
        self._opening = anyio.Lock()

    @asynccontextmanager
    async def client(self) -> AsyncIterator[tuple[RecallClient, str]]:
        """Give a connected client, and the name of the node on this machine. Raises UnreachableError, ConfigError."""
        found = self._find()
        held = await self._hold(found)
        try:
            yield held.client, found.node
        except (UnreachableError, DependencyError):
            held.retired = True
            raise
        finally:
            held.users -= 1
            await self._close_unused(held)

    async def aclose(self) -> None:
        """Close the connection."""
        if self._held is not None:
            self._held.retired = True
            await self._close_unused(self._held)

    async def _hold(self, found: Found) -> _Held:
        async with self._opening:
            held = self._held
            if held is None or held.retired or held.key != found.key:
                if held is not None:
                    held.retired = True
                    await self._close_unused(held)
                held = self._held = _Held(found.key, await found.client.__aenter__())
            held.users += 1
            return held

    async def _close_unused(self, held: _Held) -> None:
        if held.retired and not held.users:
            if self._held is held:
                self._held = None
            with anyio.CancelScope(shield=True):
                await held.client.__aexit__(None, None, None)
