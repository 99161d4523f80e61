"""The way to the daemon: one client for all screens, made anew when the daemon has gone and come back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

import anyio

from recalld.bus import wire
from recalld.bus.client import RecallClient
from recalld.errors import DependencyError, RecalldError, RefusedError, UnreachableError

T = TypeVar("T")
RETRY_S = 0.5
"""Between two attempts to follow events while no daemon is there."""
HISTORY = 200
"""Past events that are shown at the start, and caught up on after the connection was lost."""


@dataclass(slots=True)
class _Held:
    client: RecallClient
    lost: anyio.Event = field(default_factory=anyio.Event)


class Link:
    """Shares a client. ``find`` returns one, not yet connected, for where the daemon is now."""

    def __init__(self, find: Callable[[], RecallClient]) -> None:
        self._find = find
        self._held: _Held | None = None
        self._opening = anyio.Lock()

    async def ask(self, call: Callable[[RecallClient], Awaitable[T]]) -> T:
        """Return what a call of the client returns. Raises its named errors, and those of :meth:`using`."""
        async with self.using() as client:
            return await call(client)

    @asynccontextmanager
    async def using(self) -> AsyncIterator[RecallClient]:
        """Give the client, which is not used again once it has lost its daemon.

        Raises UnreachableError while there is no daemon.
        """
        held = await self._hold()
        try:
            yield held.client
        except (UnreachableError, DependencyError) as error:
            if isinstance(error, UnreachableError) or not held.client.is_up:
                await self._retire(held)
            raise

    async def follow(self, take: Callable[[wire.Event], None], *, retry_s: float = RETRY_S) -> None:
        """Give each event to ``take``, past ones first, for ever; what was missed while away is caught up on.

        Raises RefusedError where this agent may not listen.
        """
        newest: datetime | None = None

        def note(event: wire.Event) -> None:
            nonlocal newest
            newest = event.at if newest is None else max(newest, event.at)
            take(event)

        while True:
            try:
                await self._follow(note, newest)
            except RefusedError:
                raise
            except RecalldError:
                await anyio.sleep(retry_s)

    async def _follow(self, note: Callable[[wire.Event], None], newest: datetime | None) -> None:
        """Follow until this client is lost; first give what happened after ``newest``."""
        held = await self._hold()
        async with held.client.follow() as live:
            told = (await held.client.events(limit=HISTORY)).events
            past = [event for event in told if newest is None or event.at > newest]
            for event in past:
                note(event)
            async with anyio.create_task_group() as group:

                async def end() -> None:
                    await held.lost.wait()
                    group.cancel_scope.cancel()

                group.start_soon(end)
                twice = {_key(event) for event in past}
                async for event in live:
                    if twice and _key(event) in twice:
                        continue
                    twice = twice if twice and event.at <= past[-1].at else set()
                    note(event)
        raise UnreachableError("the connection was lost")

    async def aclose(self) -> None:
        """Close the connection."""
        if self._held is not None:
            await self._retire(self._held)

    async def _hold(self) -> _Held:
        async with self._opening:
            if self._held is None:
                self._held = _Held(await self._find().__aenter__())
            return self._held

    async def _retire(self, held: _Held) -> None:
        if self._held is held:
            self._held = None
        if held.lost.is_set():
            return
        held.lost.set()
        with anyio.CancelScope(shield=True):
            await held.client.__aexit__(None, None, None)


def _key(event: wire.Event) -> tuple[object, ...]:
    return event.at, event.node, event.topic, event.data.get("path"), event.data.get("run")
