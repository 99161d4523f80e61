"""Events: what happened, told to whoever listens and kept for some days."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import anyio
import pydantic
from nats.aio.msg import Msg
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from recalld.bus import subjects
from recalld.bus.connection import Connection
from recalld.bus.streams import ask_api, stream_info
from recalld.bus.wire import Event
from recalld.errors import DependencyError, RecalldError, UsageError

log = logging.getLogger(__name__)

READ_TIMEOUT_S = 5.0
KEPT_BEHIND = 10_000
"""Events that a slow follower may be behind before it loses some."""


class EventPublisher:
    """Tells events. Nobody's work fails or waits because an event cannot be told."""

    def __init__(self, connection: Connection, node: str, clock: Callable[[], datetime]) -> None:
        self._connection = connection
        self._node = node
        self._clock = clock
        self._dropped = 0

    async def announce(self, topic: str, data: Mapping[str, Any]) -> None:
        """Tell an event; while there is no connection it is dropped, and counted."""
        event = {"topic": topic, "at": self._clock().isoformat(), "node": self._node, "data": dict(data)}
        try:
            await self._connection.publish(subjects.event(topic), json.dumps(event, default=str).encode())
        except RecalldError as error:
            if not self._dropped:
                log.warning("events are not told: %s", error)
            self._dropped += 1
        except Exception:
            log.exception("event %s could not be told", topic)
        else:
            if self._dropped:
                log.info("events are told again; %d were dropped", self._dropped)
                self._dropped = 0


class EventHistory:
    """Reads the events that the stream still has."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def __call__(self, since: int | None, limit: int, topic: str | None) -> Sequence[Event]:
        """Return events, oldest first: those after seq ``since``, else the last ``limit``.

        ``topic`` narrows to one topic and all below it. Raises UsageError for a topic that cannot be one,
        DependencyError.
        """
        filters = _filters(topic)
        state = (await stream_info(self._connection, subjects.EVENT_STREAM))["state"]
        first, last = max(int(state["first_seq"]), 1), int(state["last_seq"])
        if since is not None:
            return await self._read(max(first, since + 1), filters, limit, newest=False) if since < last else ()
        width = limit
        while True:
            start = max(first, last - width + 1)
            found = await self._read(start, filters, limit, newest=True) if last >= start else ()
            if len(found) >= limit or start <= first:
                return found
            width *= 8

    async def _read(self, start: int, filters: list[str], limit: int, *, newest: bool) -> Sequence[Event]:
        """Read from ``start`` on through a consumer that is gone afterwards."""
        config = ConsumerConfig(
            ack_policy=AckPolicy.NONE,
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=start,
            filter_subjects=filters,
            inactive_threshold=10.0,
            mem_storage=True,
            num_replicas=1,
        )
        with self._connection.guarded("reading events"):
            info = await self._connection.jetstream.add_consumer(subjects.EVENT_STREAM, config)
        waiting = int(info.num_pending or 0)
        wanted = waiting if newest else min(waiting, limit)
        try:
            messages = await self._fetch(str(info.name), wanted) if wanted else []
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(1):
                await self._delete(str(info.name))
        events = [event for message in messages if (event := _event(message)) is not None]
        return events[-limit:] if newest else events

    async def _fetch(self, consumer: str, count: int) -> list[Msg]:
        messages: list[Msg] = []
        done = anyio.Event()

        async def take(message: Msg) -> None:
            if message.reply:
                messages.append(message)
            if not message.reply or len(messages) >= count:
                done.set()

        inbox = self._connection.client.new_inbox()
        subscription = await self._connection.subscribe(inbox, take)
        try:
            await self._connection.publish(
                f"$JS.API.CONSUMER.MSG.NEXT.{subjects.EVENT_STREAM}.{consumer}",
                json.dumps({"batch": count, "no_wait": True}).encode(),
                reply=inbox,
            )
            with anyio.move_on_after(READ_TIMEOUT_S) as patience:
                await done.wait()
            if patience.cancelled_caught:
                raise DependencyError("the event history does not come", suggestion="see `recall health`")
        finally:
            with anyio.CancelScope(shield=True):
                await self._connection.drain(subscription)
        return messages

    async def _delete(self, consumer: str) -> None:
        try:
            await ask_api(self._connection, f"CONSUMER.DELETE.{subjects.EVENT_STREAM}.{consumer}", {})
        except RecalldError as error:
            log.debug("consumer %s is left to end by itself: %s", consumer, error)


@asynccontextmanager
async def follow(connection: Connection, topic: str | None = None) -> AsyncIterator[AsyncIterator[Event]]:
    """Give the events that are told from now on. What is told while the connection is down is only in the history.

    Raises UsageError, RefusedError (this user may not listen), DependencyError.
    """
    send, receive = anyio.create_memory_object_stream[Event](math.inf)

    async def take(message: Msg) -> None:
        event = _event(message)
        if event is None:
            return
        if send.statistics().current_buffer_used < KEPT_BEHIND:
            send.send_nowait(event)
        else:
            log.warning("too far behind: event %s is lost to this follower", event.topic)

    async with receive, send:
        subscriptions = [await connection.subscribe(name, take) for name in _filters(topic)]
        try:
            yield receive
        finally:
            with anyio.CancelScope(shield=True):
                for subscription in subscriptions:
                    await connection.drain(subscription)


def _filters(topic: str | None) -> list[str]:
    if topic is None:
        return [subjects.EVENT_SUBJECTS]
    if not all(subjects.is_token(token) for token in topic.split(".")):
        raise UsageError(f"{topic!r} is not a topic", suggestion="topics are words with dots, as in scan.started")
    return [subjects.event(topic), subjects.event(topic) + ".>"]


def _event(message: Msg) -> Event | None:
    """Read an event; its seq is known when it comes from the stream. None for what is none."""
    try:
        event = Event.model_validate_json(message.data)
    except pydantic.ValidationError:
        log.warning("what stands on %s is no event", message.subject)
        return None
    seq = int(message.metadata.sequence.stream) if message.reply else None
    return event.model_copy(update={"seq": seq})
