"""Who serves: every node with the role serve answers what it was asked so far, and how long that took."""

from __future__ import annotations

import math

import anyio
import pydantic
from nats.aio.msg import Msg

from recalld.bus import subjects
from recalld.bus.connection import Connection
from recalld.bus.wire.status import ServiceView, VerbView

GATHER_S = 0.15
"""How long nodes have to answer after the first of them did: nobody knows how many there are."""
NS_A_MS = 1e6


async def services(connection: Connection, patience_s: float) -> tuple[ServiceView, ...]:
    """Return what the serving nodes count, by node; empty where none answers within ``patience_s``.

    Raises RefusedError where this user may not ask, DependencyError without a connection.
    """
    send, receive = anyio.create_memory_object_stream[ServiceView](math.inf)

    async def take(message: Msg) -> None:
        view = _view(message.data)
        if view is not None:
            send.send_nowait(view)

    found: list[ServiceView] = []
    inbox, asked = connection.client.new_inbox(), f"$SRV.STATS.{subjects.SERVICE}"
    subscription = await connection.subscribe(inbox, take)
    try:
        with connection.guarded("asking who serves", subject=asked):
            await connection.publish(asked, reply=inbox)
            with anyio.move_on_after(patience_s):
                found.append(await receive.receive())
            while found:
                with anyio.move_on_after(GATHER_S) as quiet:
                    found.append(await receive.receive())
                if quiet.cancelled_caught:
                    break
    finally:
        await connection.drain(subscription)
        send.close()
        receive.close()
    return tuple(sorted(found, key=lambda view: view.node))


def _view(data: bytes) -> ServiceView | None:
    """Read a reply of the micro protocol; None for what is none."""
    try:
        stats = _Stats.model_validate_json(data)
    except pydantic.ValidationError:
        return None
    return ServiceView(
        node=stats.metadata.get("node", stats.id),
        version=stats.version,
        verbs={
            each.name.replace("_", "."): VerbView(
                requests=each.num_requests, errors=each.num_errors, busy_ms=each.processing_time / NS_A_MS
            )
            for each in stats.endpoints
        },
    )


class _Endpoint(pydantic.BaseModel):
    name: str
    num_requests: int
    num_errors: int
    processing_time: int


class _Stats(pydantic.BaseModel):
    id: str
    version: str
    metadata: dict[str, str]
    endpoints: tuple[_Endpoint, ...]
