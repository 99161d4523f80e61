"""The ingest queue's two ends: snapshots in, batches of them out.

The consumer keeps two batches in work, so that one is embedded while the other is written. What it holds is told to
be in progress, what is done is acknowledged after the commit, and how each message fared is decided in
:mod:`recalld.bus.outcomes`, nowhere else.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
import nats.errors
from anyio.abc import TaskStatus
from nats.aio.msg import Msg
from nats.js.api import AckPolicy, ConsumerConfig
from pydantic_core import PydanticSerializationError

from recalld.bus import outcomes, subjects
from recalld.bus.connection import Connection
from recalld.bus.content import ContentMissingError, ContentStore
from recalld.bus.deliveries import HEADER, Backlog, Delivery, decode, encode
from recalld.bus.pull import Consumer, Pull
from recalld.bus.streams import IngestStream, ensure, put
from recalld.errors import DependencyError, RecalldError, Rejected, UnreachableError, UsageError
from recalld.model import Operation, Position, Snapshot
from recalld.settings import IngestSettings

log = logging.getLogger(__name__)

INLINE_BYTES = 512 * 1024
"""Content up to this size stands in the message itself."""
HEADER_BYTES = 32 * 1024
"""Kept free for the headers in the server's largest message."""
BATCH_BYTES = 16 * 1024 * 1024
"""Content in one batch, unless a single file has more."""
BATCHES_IN_FLIGHT = 2
FETCHES = 4
"""Objects read from the store at once."""
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0

Handle = Callable[[Sequence[tuple[Snapshot, Position]]], Awaitable[Sequence[Exception | None]]]
"""Indexes a batch; says for each snapshot None once it is committed, or why it failed."""
GiveUp = Callable[[Snapshot, Position, BaseException], Awaitable[None]]
"""Records that a file was set aside."""


class IngestPublisher:
    """Puts snapshots into the ingest stream: the watcher's ``Publisher``."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._content = ContentStore(connection)
        self._stream = IngestStream(connection)
        self._newest = 0

    async def publish(self, snapshot: Snapshot) -> Position:
        """Return where the snapshot stands once the stream holds it, on disk.

        Raises DependencyError when it cannot be taken now, UsageError when it never will.
        """
        self._connection.require_up()
        content = snapshot.content or b""
        stored_as = None
        if len(content) > min(INLINE_BYTES, self._connection.max_payload - HEADER_BYTES):
            stored_as = await self._content.put(content)
        try:
            return await self._send(snapshot, stored_as)
        except BaseException:
            if stored_as is not None:
                with anyio.CancelScope(shield=True):
                    await self._content.delete(stored_as)
            raise

    async def _send(self, snapshot: Snapshot, stored_as: str | None) -> Position:
        headers = {HEADER: _header(snapshot, stored_as)}
        subject = subjects.ingest(snapshot.repo, snapshot.path)
        payload = b"" if stored_as is not None else snapshot.content or b""
        session, newest = self._connection.session, self._newest
        try:
            seq = await put(self._connection, subjects.INGEST_STREAM, subject, payload, headers)
        except UnreachableError:
            await ensure(self._connection)
            self._stream.forget_epoch()
            newest = 0
            seq = await put(self._connection, subjects.INGEST_STREAM, subject, payload, headers)
        if session != self._connection.session or seq <= newest:
            self._stream.forget_epoch()
        self._newest = seq
        return Position(await self._stream.epoch(), seq)


def _header(snapshot: Snapshot, stored_as: str | None) -> str:
    if snapshot.observed_at is None:
        raise UsageError(f"the snapshot of {snapshot.repo}:{snapshot.path} does not say when it was taken")
    try:
        return encode(snapshot, stored_as)
    except PydanticSerializationError as error:
        raise UsageError(f"the name of a file in {snapshot.repo} is not UTF-8", suggestion="rename the file") from error


class IngestConsumer:
    """Takes snapshots from the queue and sees to it that each is indexed or set aside."""

    def __init__(self, connection: Connection, settings: IngestSettings) -> None:
        self._connection = connection
        self._settings = settings
        self._content = ContentStore(connection)
        self._stream = IngestStream(connection)
        self._fetches = anyio.CapacityLimiter(FETCHES)
        self._backlog = Backlog(batch=settings.batch, batch_bytes=BATCH_BYTES)
        self._epoch = 0
        self._indexed = 0
        self._set_aside_count = 0
        self._waiting_for: Exception | None = None
        config = consumer_config(settings)
        self._pull = Pull(
            connection,
            Consumer(subjects.INGEST_STREAM, config, self._learn_epoch),
            room=lambda: self._backlog.room,
            take=self._take,
        )

    @property
    def held(self) -> int:
        """Return how many snapshots this node has taken and not settled."""
        return len(self._backlog.held)

    @property
    def settled(self) -> int:
        """Return how many snapshots this node has settled: a sign of progress."""
        return self._indexed + self._set_aside_count

    async def run(
        self,
        handle: Handle,
        give_up: GiveUp,
        stop: anyio.Event,
        *,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Work until ``stop`` is set, then finish the batches in work and give the rest back."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._pull.run)
                group.start_soon(self._beat)
                async with anyio.create_task_group() as workers:
                    for _ in range(BATCHES_IN_FLIGHT):
                        workers.start_soon(self._work, handle, give_up)
                    task_status.started()
                    await stop.wait()
                    await self._pull.close()
                    await self._give_back(self._backlog.close())
                group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await self._pull.close()
                await self._give_back(list(self._backlog.held))

    async def _learn_epoch(self) -> None:
        self._stream.forget_epoch()
        self._epoch = await self._stream.epoch()

    def _take(self, message: Msg) -> None:
        delivery = decode(message, self._epoch)
        superseded = self._backlog.add(delivery)
        if superseded is not None:
            log.debug("%s was replaced before it was worked on", superseded)

    async def _beat(self) -> None:
        """Tell the server that what is held is being worked on, well before it would give it to somebody else."""
        while True:
            await anyio.sleep(self._settings.ack_wait_s / 3)
            for delivery in self._backlog.held:
                if self._connection.is_up and delivery.position.epoch == self._epoch:
                    await self._tell(delivery.message.in_progress)

    async def _work(self, handle: Handle, give_up: GiveUp) -> None:
        while batch := await self._backlog.next():
            self._pull.nudge()
            readable = await self._readable(batch, give_up)
            if readable:
                await self._index(readable, handle, give_up)

    async def _readable(self, batch: Sequence[Delivery], give_up: GiveUp) -> list[tuple[Delivery, Snapshot]]:
        """Return what can be worked on, with its content; settle the rest."""
        found: dict[Delivery, Snapshot] = {}
        async with anyio.create_task_group() as group:
            for delivery in batch:
                group.start_soon(self._read, delivery, found, give_up)
        return [(delivery, found[delivery]) for delivery in batch if delivery in found]

    async def _read(self, delivery: Delivery, found: dict[Delivery, Snapshot], give_up: GiveUp) -> None:
        fault: Exception | None = delivery.fault
        if fault is None and delivery.attempt > self._settings.max_deliver:
            fault = Rejected(
                f"each of {self._settings.max_deliver} workers ended while it had this file",
                suggestion="look at the daemon's log for the time before its restarts",
            )
        if fault is not None:
            await self._set_aside(delivery, fault, give_up)
            return
        assert delivery.snapshot is not None
        try:
            found[delivery] = await self._with_content(delivery, delivery.snapshot)
        except (RecalldError, OSError) as error:
            await self._settle(delivery, error, give_up)

    async def _with_content(self, delivery: Delivery, snapshot: Snapshot) -> Snapshot:
        if delivery.object is None or snapshot.operation is not Operation.UPSERT:
            return snapshot
        async with self._fetches:
            return dataclasses.replace(snapshot, content=await self._content.get(delivery.object))

    async def _index(self, batch: Sequence[tuple[Delivery, Snapshot]], handle: Handle, give_up: GiveUp) -> None:
        results: Sequence[Exception | None]
        try:
            results = await handle([(snapshot, delivery.position) for delivery, snapshot in batch])
        except Exception as fault:
            results = [fault] * len(batch)
        self._indexed += sum(result is None for result in results)
        if self._waiting_for is not None and None in results:
            self._waiting_for = None
            log.info("indexing goes on")
        async with anyio.create_task_group() as group:
            for (delivery, _), result in zip(batch, results, strict=True):
                group.start_soon(self._settle, delivery, result, give_up)

    async def _settle(self, delivery: Delivery, error: Exception | None, give_up: GiveUp) -> None:
        outcome = outcomes.decide(error, attempt=delivery.tries, max_attempts=self._settings.max_deliver)
        match outcome:
            case outcomes.Ack():
                await self._done(delivery)
            case outcomes.Again(delay):
                log.warning("%s failed, again in %g s: %r", delivery, delay, error)
                await self._finish(delivery, lambda: delivery.message.nak(delay))
            case outcomes.Keep():
                assert error is not None
                await self._keep(delivery, error, give_up)
            case outcomes.SetAside():
                assert error is not None
                await self._set_aside(delivery, error, give_up)

    async def _done(self, delivery: Delivery) -> None:
        await self._finish(delivery, delivery.message.ack)
        if delivery.object is not None:
            await self._content.delete(delivery.object)

    async def _keep(self, delivery: Delivery, error: Exception, give_up: GiveUp) -> None:
        """Try again soon, without end while nothing works; a file that fails while others do not has its tries."""
        if self._waiting_for is None:
            log.warning("indexing waits: %s", error)
        self._waiting_for = error
        if delivery.kept and self._indexed > delivery.indexed_before:
            delivery.failures += 1
        if delivery.failures >= self._settings.max_deliver:
            await self._set_aside(delivery, error, give_up)
            return
        delivery.indexed_before = self._indexed
        pause = min(FIRST_PAUSE_S * 2**delivery.kept, LONGEST_PAUSE_S)
        delivery.kept += 1
        self._backlog.put_back(delivery, anyio.current_time() + pause)

    async def _set_aside(self, delivery: Delivery, error: Exception, give_up: GiveUp) -> None:
        log.error("%s is set aside: %s", delivery, error, exc_info=None if isinstance(error, RecalldError) else error)
        try:
            await self._record(delivery, error, give_up)
            await self._bury(delivery, error)
        except (DependencyError, UnreachableError, OSError) as why:
            log.warning("%s cannot be set aside yet: %s", delivery, why)
            delivery.fault = error
            self._backlog.put_back(delivery, anyio.current_time() + LONGEST_PAUSE_S)
            return
        self._set_aside_count += 1
        await self._finish(delivery, delivery.message.term)

    async def _record(self, delivery: Delivery, error: Exception, give_up: GiveUp) -> None:
        if delivery.snapshot is None:
            return
        try:
            await give_up(_as_known(delivery.snapshot, error), delivery.position, error)
        except (DependencyError, OSError):
            raise
        except Exception:
            log.exception("the failure of %s could not be recorded", delivery)

    async def _bury(self, delivery: Delivery, error: Exception) -> None:
        """Keep a copy of the message and the reason among the dead letters."""
        reason = error.message if isinstance(error, RecalldError) else f"{type(error).__name__}: {error}"
        headers = {
            **{name: value for name, value in (delivery.message.headers or {}).items() if name == HEADER},
            "Recall-Reason": " ".join(reason.split())[:1_000],
            "Recall-Code": error.code if isinstance(error, RecalldError) else "internal",
            "Recall-Attempts": str(delivery.tries),
            "Recall-Seq": str(delivery.position.seq),
        }
        subject = subjects.DEAD_SUBJECTS[:-1] + delivery.subject.removeprefix(subjects.INGEST_SUBJECTS[:-1])
        await put(self._connection, subjects.DEAD_STREAM, subject, delivery.message.data or b"", headers)

    async def _finish(self, delivery: Delivery, tell: Callable[[], Awaitable[Any]]) -> None:
        """Tell the server how a message ended, unless the stream it came from is no more."""
        await self._pull.until_ready()
        if self._pull.is_ready and delivery.position.epoch == self._epoch:
            await self._tell(tell)
        self._backlog.settled(delivery)
        self._pull.nudge()

    async def _give_back(self, deliveries: Sequence[Delivery]) -> None:
        for delivery in deliveries:
            if self._connection.is_up and delivery.position.epoch == self._epoch:
                await self._tell(delivery.message.nak)
            self._backlog.settled(delivery)

    async def _tell(self, tell: Callable[[], Awaitable[Any]]) -> None:
        try:
            await tell()
        except (nats.errors.Error, OSError) as error:
            log.debug("the server could not be told, it will deliver again: %s", error)


def _as_known(snapshot: Snapshot, error: Exception) -> Snapshot:
    """A file whose content was lost on the way is not known: the next scan shall find it different, and send it."""
    if isinstance(error, ContentMissingError):
        return dataclasses.replace(snapshot, content_hash="", stat=None)
    return snapshot


def consumer_config(settings: IngestSettings) -> ConsumerConfig:
    """One consumer for all index workers. Tries are counted here, not by the server, which would leave the message.

    No ``backoff``: it would replace ``ack_wait``. No ``max_ack_pending``: files that wait for another try must not
    hold up the others.
    """
    return ConsumerConfig(
        durable_name=subjects.INGEST_CONSUMER,
        ack_policy=AckPolicy.EXPLICIT,
        ack_wait=settings.ack_wait_s,
        max_deliver=-1,
        max_ack_pending=-1,
        filter_subject=subjects.INGEST_SUBJECTS,
    )
