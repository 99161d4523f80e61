"""Nodes that run jobs, over real servers, and what they tell."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import anyio

from recalld.bus.connection import Connection
from recalld.bus.jobs import JobConsumer, JobPublisher
from recalld.foundation import now
from recalld.jobs.job import Runner
from recalld.jobs.runs import JobRuns, Limits
from recalld.store import Store

QUICK = Limits(
    timeout_s=lambda name: 30.0, delay_s=0.05, held_s=0.1, beat_s=0.05, stubborn_s=0.3, patience_s=10.0, look_s=3_600.0
)
ACK_WAIT_S = 1.0
WITNESSES = """
    CREATE TABLE ended (name text, slot text, node text, attempt integer);
    CREATE FUNCTION note_end() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO ended VALUES (new.name, new.slot, new.node, new.attempt); RETURN new; END
    $$;
    CREATE TRIGGER note_end AFTER UPDATE ON job_run FOR EACH ROW WHEN (new.state = 'done') EXECUTE FUNCTION note_end()
"""
"""The database itself counts how often a slot is done, in the transaction that says so."""


@dataclass
class Announced:
    """Remembers events."""

    seen: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    changed: anyio.Event = field(default_factory=anyio.Event)

    async def __call__(self, topic: str, data: Mapping[str, Any]) -> None:
        self.seen.append((topic, data))
        self.changed.set()
        self.changed = anyio.Event()

    async def until(self, topic: str, count: int = 1, timeout: float = 15.0) -> Mapping[str, Any]:
        """Return the facts of the ``count``-th event of a topic, once it was told."""
        with anyio.fail_after(timeout):
            while len(self.of(topic)) < count:
                await self.changed.wait()
        return self.of(topic)[count - 1]

    def of(self, topic: str) -> list[Mapping[str, Any]]:
        return [data for seen, data in self.seen if seen == topic]

    @property
    def topics(self) -> list[str]:
        return [topic for topic, _ in self.seen]


@asynccontextmanager
async def running_jobs(
    connection: Connection,
    store: Store,
    announced: Announced,
    runners: Mapping[str, Runner],
    *,
    node: str = "one",
    ack_wait_s: float = ACK_WAIT_S,
    **limits: Any,
) -> AsyncIterator[JobRuns]:
    """A node that runs jobs, stopped in order at the end."""
    stop = anyio.Event()
    again = JobPublisher(connection).again
    runs = JobRuns(store, runners, announced, again, node, replace(QUICK, **limits), now)
    async with runs.open(), anyio.create_task_group() as group:
        await group.start(JobConsumer(connection, ack_wait_s).run, runs, stop)
        try:
            yield runs
        finally:
            stop.set()


async def until_settled(connection: Connection, timeout: float = 15.0) -> None:
    """Return once no request is left on the bus."""
    with anyio.fail_after(timeout):
        while await JobPublisher(connection).unsettled():  # noqa: ASYNC110 - the server tells nobody
            await anyio.sleep(0.02)
