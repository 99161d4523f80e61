"""A standing request for the messages of a pull consumer.

nats-py's ``fetch`` of more than one message waits until it has them all or its time is over, keeps status messages in
a queue that makes a later ``drain`` hang, and does not notice that the server forgot its request. Here one request
stands at the server all the time, what arrives is handed over at once, and a request that was lost is made again.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js.api import ConsumerConfig

from recalld.bus.connection import Connection
from recalld.bus.streams import ensure
from recalld.errors import RecalldError, UnreachableError

log = logging.getLogger(__name__)

EXPIRES_S = 30.0
HEARTBEAT_S = 5.0
_SILENCE_S = 2.5 * HEARTBEAT_S
_FIRST_RETRY_S = 0.05
_LONGEST_RETRY_S = 2.0
_NS = 1_000_000_000
_HEARTBEAT = "100"
_EXPIRED = "408"


@dataclass(frozen=True, slots=True)
class Consumer:
    """A durable consumer of a stream. ``prepare`` is awaited before each session's first request."""

    stream: str
    config: ConsumerConfig
    prepare: Callable[[], Awaitable[None]]


class Pull:
    """Keeps a request open for as many messages as there is ``room`` for, and hands each to ``take``."""

    def __init__(
        self, connection: Connection, consumer: Consumer, *, room: Callable[[], int], take: Callable[[Msg], None]
    ) -> None:
        self._connection = connection
        self._consumer = consumer
        self._room = room
        self._take = take
        self._inbox = connection.client.new_inbox()
        self._subscription: Subscription | None = None
        self._outstanding = 0
        self._session = 0
        self._heard = 0.0
        self._retry_s = _FIRST_RETRY_S
        self._wake = anyio.Event()
        self._closed = False
        self._ready = anyio.Event()
        self._not_before = 0.0

    @property
    def is_ready(self) -> bool:
        """Tell whether the consumer is known to exist in this session of the connection."""
        return self._session == self._connection.session and self._connection.is_up

    def nudge(self) -> None:
        """Look again: there is room, or something changed."""
        self._wake.set()

    async def until_ready(self) -> None:
        """Return once the consumer exists in this session, or nothing more is pulled."""
        while not self.is_ready and not self._closed:
            if self._ready.is_set():
                self._ready = anyio.Event()
            await self._ready.wait()

    async def run(self) -> None:
        """Pull until :meth:`close`, through reconnects and lost streams."""
        self._connection.listeners.add(self._reconnected)
        try:
            while not self._closed:
                self._wake = anyio.Event()
                if not await self._prepared():
                    continue
                await self._request()
                await self._until_woken()
        finally:
            self._connection.listeners.discard(self._reconnected)

    async def close(self) -> None:
        """Ask for no more; return once everything that the server had sent was taken."""
        self._closed = True
        self._wake.set()
        self._ready.set()
        if self._subscription is not None:
            await self._connection.drain(self._subscription)

    async def _prepared(self) -> bool:
        """Make sure that stream, consumer and subscription exist; on a failure wait a little and return False."""
        if self.is_ready:
            return True
        session = self._connection.session
        await anyio.sleep_until(self._not_before)
        try:
            await self._make()
        except RecalldError as error:
            self._complain(error)
            with anyio.move_on_after(self._back_off()):
                await self._wake.wait()
            return False
        self._session, self._retry_s, self._outstanding = session, _FIRST_RETRY_S, 0
        self._ready.set()
        return self.is_ready

    async def _make(self) -> None:
        consumer = self._consumer
        try:
            await self._add_consumer()
        except RecalldError:
            await ensure(self._connection)
            await self._add_consumer()
        await consumer.prepare()
        if self._subscription is None:
            self._subscription = await self._connection.subscribe(self._inbox, self._on_message)

    async def _add_consumer(self) -> None:
        with self._connection.guarded(f"creating consumer {self._consumer.config.durable_name}"):
            await self._connection.jetstream.add_consumer(self._consumer.stream, self._consumer.config)

    async def _request(self) -> None:
        room = self._room()
        if self._outstanding > 0 or room <= 0:
            return
        body = {"batch": room, "expires": int(EXPIRES_S * _NS), "idle_heartbeat": int(HEARTBEAT_S * _NS)}
        name = self._consumer.config.durable_name
        self._outstanding = room
        self._heard = anyio.current_time()
        try:
            await self._connection.publish(
                f"$JS.API.CONSUMER.MSG.NEXT.{self._consumer.stream}.{name}",
                json.dumps(body).encode(),
                reply=self._inbox,
            )
        except RecalldError as error:
            log.debug("pull request not sent: %s", error)
            self._lose()

    async def _until_woken(self) -> None:
        """Wait for something to do, but no longer than the server may be silent on a request."""
        if self._outstanding == 0:
            await self._wake.wait()
            return
        with anyio.move_on_at(self._heard + _SILENCE_S) as silence:
            await self._wake.wait()
        if silence.cancelled_caught and anyio.current_time() >= self._heard + _SILENCE_S:
            log.warning("NATS went silent on the messages of %s, asking again", self._consumer.stream)
            self._lose()

    async def _on_message(self, message: Msg) -> None:
        self._heard = anyio.current_time()
        status = (message.headers or {}).get("Status")
        if status is None or message.reply:
            self._outstanding = max(0, self._outstanding - 1)
            self._retry_s = _FIRST_RETRY_S
            self._take(message)
        elif status == _HEARTBEAT:
            return
        elif status == _EXPIRED:
            self._outstanding = 0
        else:
            log.info("NATS ended a pull of %s: %s", self._consumer.stream, (message.headers or {}).get("Description"))
            self._lose()
            self._not_before = self._heard + self._back_off()
        if self._outstanding == 0:
            self._wake.set()

    def _lose(self) -> None:
        """Forget the request and check the consumer before the next one."""
        self._outstanding = 0
        self._session = 0

    def _reconnected(self) -> None:
        self._lose()
        self._wake.set()

    def _complain(self, error: RecalldError) -> None:
        first = self._retry_s == _FIRST_RETRY_S
        level = logging.WARNING if first and not isinstance(error, UnreachableError) else logging.DEBUG
        log.log(level, "cannot read %s yet: %s", self._consumer.stream, error)

    def _back_off(self) -> float:
        self._retry_s = min(self._retry_s * 2, _LONGEST_RETRY_S)
        return self._retry_s
