"""Requests for jobs on the bus: asked for once a slot, given to one node at a time until that one settles it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

import anyio
import nats.errors
from anyio.abc import TaskStatus
from nats.aio.msg import Msg
from nats.js.api import AckPolicy, ConsumerConfig, Header

from recalld.bus import subjects
from recalld.bus.connection import Connection
from recalld.bus.pull import Consumer, Pull
from recalld.bus.streams import ensure, put, stream_info
from recalld.errors import UnreachableError, UsageError
from recalld.jobs.job import JobRequest

log = logging.getLogger(__name__)

ACK_WAIT_S = 30.0
DELAY_S = 30.0
"""Until a request comes again on which the work itself broke (seconds)."""
SLOT = "Recall-Slot"
BY = "Recall-By"
SCHEDULE = "schedule"
"""Who asks for what runs by the clock."""

Work = Callable[[JobRequest], Awaitable[float | None]]
"""Does what is asked for; returns None when that is settled, else after how many seconds it is to come again."""


class JobPublisher:
    """Asks for jobs, in the name of the schedule or an agent."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def publish(self, name: str, slot: str, by: str = SCHEDULE) -> None:
        """Ask for job ``name``; of all that ask for the same ``slot`` one counts. Raises UsageError, DependencyError.

        The slot is the message's id, so that what is asked for twice within the stream's duplicate window is dropped,
        and its subject, so that later than that it takes the place of one that still waits.
        """
        await self._put(name, slot, by, {Header.MSG_ID.value: f"{name}@{slot}"})

    async def again(self, name: str, slot: str, by: str) -> None:
        """Ask for a slot whose request may be gone; one that still waits is replaced. Raises as :meth:`publish`."""
        await self._put(name, slot, by, {})

    async def _put(self, name: str, slot: str, by: str, headers: dict[str, str]) -> None:
        if not (subjects.is_token(name) and subjects.is_token(slot)):
            raise UsageError(
                f"{name!r} in slot {slot!r} cannot be asked for", suggestion="use letters, digits, - and _"
            )
        subject, whole = subjects.job(name, slot), {**headers, SLOT: slot, BY: by}
        try:
            await put(self._connection, subjects.JOB_STREAM, subject, b"", whole)
        except UnreachableError:
            await ensure(self._connection)
            await put(self._connection, subjects.JOB_STREAM, subject, b"", whole)

    async def unsettled(self) -> int:
        """Return how many requests wait or are worked on. Raises DependencyError."""
        return int((await stream_info(self._connection, subjects.JOB_STREAM))["state"]["messages"])


class JobConsumer:
    """Hands requests to whoever works on them, one at a time.

    ``ack_wait_s`` is how long a node may be silent before its request is given to another: equal on all nodes.
    """

    def __init__(self, connection: Connection, ack_wait_s: float = ACK_WAIT_S) -> None:
        self._connection = connection
        self._ack_wait_s = ack_wait_s
        self._waiting: Msg | None = None
        self._running: Msg | None = None
        self._arrived = anyio.Event()
        self._pull = Pull(
            connection,
            Consumer(subjects.JOB_STREAM, consumer_config(ack_wait_s), _nothing),
            room=lambda: 0 if self._waiting or self._running else 1,
            take=self._take,
        )

    async def run(
        self,
        work: Work,
        stop: anyio.Event,
        *,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Have ``work`` do what is asked for until ``stop`` is set; then it is cancelled, and others are asked."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._pull.run)
                group.start_soon(self._beat)
                group.start_soon(self._work, work)
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

    async def _work(self, work: Work) -> None:
        while True:
            await self._arrived.wait()
            self._arrived = anyio.Event()
            self._running, self._waiting = self._waiting, None
            if self._running is not None:
                await self._settle(self._running, await _done(work, self._running))
            self._running = None
            self._pull.nudge()

    async def _settle(self, message: Msg, again_s: float | None) -> None:
        await self._tell(message.ack if again_s is None else lambda: message.nak(again_s))

    async def _beat(self) -> None:
        while True:
            await anyio.sleep(self._ack_wait_s / 3)
            for message in filter(None, (self._running, self._waiting)):
                await self._tell(message.in_progress)

    async def _tell(self, tell: Callable[[], Awaitable[object]]) -> None:
        try:
            await tell()
        except (nats.errors.Error, OSError) as error:
            log.debug("the server could not be told: %s", error)


async def _done(work: Work, message: Msg) -> float | None:
    try:
        return await work(request_of(message))
    except Exception:
        log.exception("what %s asks for could not be worked on", message.subject)
        return DELAY_S


async def _nothing() -> None:
    return


def request_of(message: Msg) -> JobRequest:
    """Read a request; an older daemon's has the slot in its header alone."""
    name, _, slot = message.subject.removeprefix(subjects.JOB_SUBJECTS[:-1]).partition(".")
    headers = message.headers or {}
    return JobRequest(name, headers.get(SLOT, "") or slot, headers.get(BY, "") or SCHEDULE)


def consumer_config(ack_wait_s: float) -> ConsumerConfig:
    """One consumer for all nodes; a node that has a job beats, and one that died is followed by another."""
    return ConsumerConfig(
        durable_name=subjects.JOB_CONSUMER,
        ack_policy=AckPolicy.EXPLICIT,
        ack_wait=ack_wait_s,
        max_deliver=-1,
        filter_subject=subjects.JOB_SUBJECTS,
    )
