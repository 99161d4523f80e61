"""Scheduled jobs on the bus: asked for once a slot, run by one node."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import nats.errors
from anyio.abc import TaskStatus
from nats.aio.msg import Msg
from nats.js.api import AckPolicy, ConsumerConfig, Header

from recalld.bus import subjects
from recalld.bus.connection import Connection
from recalld.bus.pull import Consumer, Pull
from recalld.bus.streams import ensure, put
from recalld.errors import UnreachableError

log = logging.getLogger(__name__)

ACK_WAIT_S = 60.0
MAX_TRIES = 3
DELAY_S = 30.0
SLOT = "Recall-Slot"

Runner = Callable[[], Awaitable[Mapping[str, Any]]]
"""Does a job; returns what came of it."""
Announce = Callable[[str, Mapping[str, Any]], Awaitable[None]]


class JobPublisher:
    """Asks for jobs."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def publish(self, name: str, slot: str) -> None:
        """Ask for job ``name``; of all that ask for the same ``slot`` one counts. Raises DependencyError."""
        try:
            await self._publish(name, slot)
        except UnreachableError:
            await ensure(self._connection)
            await self._publish(name, slot)

    async def _publish(self, name: str, slot: str) -> None:
        headers = {Header.MSG_ID.value: f"{name}@{slot}", SLOT: slot}
        await put(self._connection, subjects.JOB_STREAM, subjects.job(name), b"", headers)


class JobConsumer:
    """Runs jobs, one at a time."""

    def __init__(self, connection: Connection, announce: Announce) -> None:
        self._connection = connection
        self._announce = announce
        self._waiting: Msg | None = None
        self._running: Msg | None = None
        self._arrived = anyio.Event()
        self._pull = Pull(
            connection,
            Consumer(subjects.JOB_STREAM, consumer_config(), _nothing),
            room=lambda: 0 if self._waiting or self._running else 1,
            take=self._take,
        )

    async def run(
        self,
        runners: Mapping[str, Runner],
        stop: anyio.Event,
        *,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Run what is asked for until ``stop`` is set; a job that runs then is given up and run again elsewhere."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._pull.run)
                group.start_soon(self._beat)
                group.start_soon(self._work, runners)
                task_status.started()
                await stop.wait()
                group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await self._pull.close()
                for message in filter(None, (self._running, self._waiting)):
                    await self._tell(message.nak)

    def _take(self, message: Msg) -> None:
        self._waiting = message
        self._arrived.set()

    async def _work(self, runners: Mapping[str, Runner]) -> None:
        while True:
            await self._arrived.wait()
            self._arrived = anyio.Event()
            self._running, self._waiting = self._waiting, None
            if self._running is not None:
                await self._run(self._running, runners)
            self._running = None
            self._pull.nudge()

    async def _run(self, message: Msg, runners: Mapping[str, Runner]) -> None:
        name = message.subject.removeprefix(subjects.JOB_SUBJECTS[:-1])
        facts = {"name": name, "slot": (message.headers or {}).get(SLOT, "")}
        runner = runners.get(name)
        if runner is None:
            await self._fail(message, facts, f"this node has no job {name}")
            return
        await self._announce("job.started", facts)
        try:
            result = await runner()
        except Exception as error:
            log.warning("job %s failed", name, exc_info=True)
            await self._fail(message, facts, f"{type(error).__name__}: {error}")
        else:
            await self._tell(message.ack)
            await self._announce("job.done", {**facts, **result})

    async def _fail(self, message: Msg, facts: Mapping[str, Any], reason: str) -> None:
        attempt = int(message.metadata.num_delivered)
        last = attempt >= MAX_TRIES
        await self._tell(message.term if last else lambda: message.nak(DELAY_S))
        await self._announce("job.failed", {**facts, "reason": reason, "attempt": attempt, "given_up": last})

    async def _beat(self) -> None:
        while True:
            await anyio.sleep(ACK_WAIT_S / 3)
            for message in filter(None, (self._running, self._waiting)):
                await self._tell(message.in_progress)

    async def _tell(self, tell: Callable[[], Awaitable[Any]]) -> None:
        try:
            await tell()
        except (nats.errors.Error, OSError) as error:
            log.debug("the server could not be told: %s", error)


async def _nothing() -> None:
    return


def consumer_config() -> ConsumerConfig:
    """One consumer for all nodes; a node that has a job beats, and one that died is followed by another."""
    return ConsumerConfig(
        durable_name=subjects.JOB_CONSUMER,
        ack_policy=AckPolicy.EXPLICIT,
        ack_wait=ACK_WAIT_S,
        max_deliver=-1,
        filter_subject=subjects.JOB_SUBJECTS,
    )
