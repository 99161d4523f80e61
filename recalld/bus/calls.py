"""Asking on the bus: a typed request, and either its typed reply or the named error that came instead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import anyio
import pydantic
from nats.aio.msg import Msg

from recalld.bus import wire
from recalld.bus.connection import Connection
from recalld.bus.failures import ConnectionLostError
from recalld.errors import DeadlineError, DependencyError, RecalldError, UnreachableError

GRACE_S = 1.0
"""How much longer than its deadline a request is waited for: the server's own word on it comes first."""
PATIENCE_S = 2.0
"""How long a server may be away (restarting, reconnecting) before it counts as not there."""
RETRY_S = 0.05

R = TypeVar("R", bound=wire.Reply)


async def call(
    connection: Connection,
    subject: str,
    request: wire.Request,
    reply: type[R],
    *,
    deadline_s: float,
    patience_s: float = PATIENCE_S,
    repeatable: bool = False,
) -> R:
    """Send ``request`` and return what comes back, within ``deadline_s`` unless the request names its own deadline.

    A ``repeatable`` request is sent again when the connection broke before its reply came. Raises the named error
    that the server sent, UnreachableError (nobody answers), DeadlineError, DependencyError, TooLargeError.
    """
    if request.deadline_ms is None:
        request = request.model_copy(update={"deadline_ms": max(1, round(deadline_s * 1_000))})
    payload = request.model_dump_json(exclude_defaults=True).encode()
    until = anyio.current_time() + patience_s
    while True:
        try:
            return await _once(connection, subject, payload, reply, (request.deadline_ms or 0) / 1_000)
        except ConnectionLostError:
            if not repeatable:
                raise
            until = max(until, anyio.current_time() + patience_s) if connection.is_up else until
        except (_NobodyError, DependencyError) as error:
            if not isinstance(error, _NobodyError) and connection.is_up:
                raise
            if anyio.current_time() >= until:
                raise
        await anyio.sleep(RETRY_S)


class _NobodyError(UnreachableError):
    """Nobody listens on the subject: nothing was done, so asking again is safe."""


async def _once(connection: Connection, subject: str, payload: bytes, reply: type[R], deadline_s: float) -> R:
    try:
        message = await connection.request(subject, payload, timeout=deadline_s + GRACE_S)
    except UnreachableError as error:
        raise _NobodyError(
            f"nobody on the bus answers {subject}", suggestion="is a daemon with that role running? try `recalld run`"
        ) from error
    except TimeoutError as error:
        raise DeadlineError(
            f"no answer to {subject} within {deadline_s:g} s", suggestion="allow more time, or see `recall health`"
        ) from error
    return read(message, subject, reply)


def read(message: Msg, subject: str, reply: type[R]) -> R:
    """Return what a reply says. Raises the named error that it is instead, DependencyError where it is no reply."""
    try:
        if (message.headers or {}).get("Nats-Service-Error") is not None:
            raise named(wire.ErrorReply.model_validate_json(message.data).error)
        return reply.model_validate_json(message.data)
    except pydantic.ValidationError as error:
        raise DependencyError(
            f"the reply to {subject} is not understood: {error.errors()[0]['msg']}",
            suggestion="client and daemon may be of versions that do not fit",
        ) from error


def named(body: wire.ErrorBody) -> RecalldError:
    """Return the error that a reply names; one that this version does not know keeps its code."""
    kind = _KINDS.get(body.code, RecalldError)
    error = kind(body.message, suggestion=body.suggestion)
    if error.code != body.code:
        error.code = body.code
    return error


def _kinds(base: type[RecalldError]) -> Iterator[type[RecalldError]]:
    yield base
    for child in base.__subclasses__():
        yield from _kinds(child)


_KINDS = {
    kind.code: kind for kind in _kinds(RecalldError) if kind.__module__ == "recalld.errors" and kind.code != "retry"
}
