"""Answers in parts: words on their way to a reply inbox, ahead of the reply that ends them.

NATS tells nobody that a client has gone. But a message with a reply subject that nobody listens for is answered by the
server with "no responders" (status 503), so each part asks for that, and the first such word ends the work.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from recalld.bus import wire
from recalld.bus.calls import GRACE_S, read
from recalld.bus.connection import Connection
from recalld.errors import DeadlineError, RecalldError, UnreachableError

PART = "Recall-Part"
"""The header by which a client knows a part from the reply."""
_STATUS, _NOBODY = "Status", "503"

R = TypeVar("R", bound=wire.Reply)
P = TypeVar("P", bound=wire.Reply)
Tell = Callable[[wire.Reply], Awaitable[None]]


class GoneError(RecalldError):
    """Whoever asked does not listen any more."""

    code = "gone"


class _Parts:
    """Sends parts, and ends ``scope`` when nobody is there to take them."""

    def __init__(self, connection: Connection, inbox: str) -> None:
        self._connection = connection
        self._inbox = inbox
        self._subscription: Subscription | None = None
        self._bounces = ""
        self.scope = anyio.CancelScope()
        self.gone = False

    async def tell(self, part: wire.Reply) -> None:
        if self._subscription is None:
            self._bounces = self._connection.client.new_inbox()
            self._subscription = await self._connection.subscribe(self._bounces, self._bounced)
        payload = part.model_dump_json(exclude_defaults=True).encode()
        await self._connection.publish(self._inbox, payload, reply=self._bounces, headers={PART: "1"})

    async def _bounced(self, message: Msg) -> None:
        if (message.headers or {}).get(_STATUS) == _NOBODY:
            self.gone = True
            self.scope.cancel()

    async def aclose(self) -> None:
        if self._subscription is not None:
            await self._connection.drain(self._subscription)


@asynccontextmanager
async def parts_to(connection: Connection, inbox: str) -> AsyncIterator[Tell]:
    """Give what sends parts to an inbox. Raises GoneError, with what is inside cancelled, once nobody takes them."""
    parts = _Parts(connection, inbox)
    try:
        with parts.scope:
            yield parts.tell
    finally:
        with anyio.CancelScope(shield=True):
            await parts.aclose()
    if parts.gone:
        raise GoneError("whoever asked does not listen any more")


@asynccontextmanager
async def streamed(
    connection: Connection, subject: str, request: wire.Request, part: type[P], reply: type[R], deadline_s: float
) -> AsyncIterator[AsyncIterator[P | R]]:
    """Send a request and give the parts of its answer, then the reply; leaving early calls the work off.

    Raises, while it is read, the named error that came instead of a reply, UnreachableError and DeadlineError.
    """
    if request.deadline_ms is None:
        request = request.model_copy(update={"deadline_ms": max(1, round(deadline_s * 1_000))})
    send, receive = anyio.create_memory_object_stream[Msg](math.inf)

    async def take(message: Msg) -> None:
        send.send_nowait(message)

    until = anyio.current_time() + (request.deadline_ms or 0) / 1_000 + GRACE_S

    async def answers() -> AsyncIterator[P | R]:
        while True:
            message = await _next(receive, until, subject)
            headers = message.headers or {}
            if headers.get(_STATUS) == _NOBODY:
                raise UnreachableError(
                    f"nobody on the bus answers {subject}",
                    suggestion="is a daemon with that role running? try `recalld run`",
                )
            if PART not in headers:
                yield read(message, subject, reply)
                return
            yield part.model_validate_json(message.data)

    inbox = connection.client.new_inbox()
    async with send, receive:
        subscription = await connection.subscribe(inbox, take)
        try:
            await connection.publish(subject, request.model_dump_json(exclude_defaults=True).encode(), reply=inbox)
            yield answers()
        finally:
            with anyio.CancelScope(shield=True):
                await subscription.unsubscribe()


async def _next(receive: MemoryObjectReceiveStream[Msg], until: float, subject: str) -> Msg:
    with anyio.move_on_after(until - anyio.current_time()):
        return await receive.receive()
    raise DeadlineError(f"no answer to {subject} in time", suggestion="allow more time, or see `recall health`")
