"""Two processes run 200 slots of a job and are killed ten times: each slot is done once; none is lost, none doubled."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import asyncpg
import pytest
from anyio import to_thread

from recalld.bus.jobs import JobPublisher
from tests.support.bus import connected
from tests.support.jobs import WITNESSES, until_settled

SLOTS = 200
KILLS = 10


@dataclass
class Node:
    """A process that runs jobs; killed and started again."""

    name: str
    nats: str
    dsn: str
    rng: random.Random
    process: subprocess.Popen[str] | None = None

    async def start(self) -> None:
        """Return when it takes jobs."""
        seed = str(self.rng.getrandbits(31))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.job_node", self.nats, self.dsn, self.name, seed],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        with anyio.fail_after(30):
            assert await to_thread.run_sync(self.process.stdout.readline, abandon_on_cancel=True) == "ready\n"

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@asynccontextmanager
async def two_nodes(nats: str, dsn: str, rng: random.Random) -> AsyncIterator[list[Node]]:
    nodes = [Node(name, nats, dsn, rng) for name in ("one", "two")]
    try:
        async with anyio.create_task_group() as group:
            for node in nodes:
                group.start_soon(node.start)
        yield nodes
    finally:
        for node in nodes:
            node.kill()


async def ask(nats: str, rng: random.Random) -> None:
    """Ask for every slot twice, as the schedules of two nodes do."""
    slots = [f"slot-{number}" for number in range(SLOTS)]
    async with connected(nats) as first, connected(nats) as second:
        for connection in (first, second):
            rng.shuffle(slots)
            for slot in slots:
                await JobPublisher(connection).publish("work", slot)


async def until_ended(database: asyncpg.Connection, count: int) -> None:
    with anyio.fail_after(60):
        while await database.fetchval("SELECT count(*) FROM ended") < count:  # noqa: ASYNC110 - nobody tells
            await anyio.sleep(0.01)


@pytest.mark.timeout(120)
async def test_every_slot_is_done_once_though_nodes_are_killed(postgres: str, nats: str) -> None:
    rng = random.Random(20)
    database = await asyncpg.connect(postgres)
    await database.execute(f"{WITNESSES}; CREATE TABLE overlap (slot integer, node text)")
    async with two_nodes(nats, postgres, rng) as nodes:
        await ask(nats, rng)
        for enough in sorted(rng.sample(range(2, SLOTS - 20), KILLS)):
            await until_ended(database, enough)
            victim = rng.choice(nodes)
            await anyio.sleep(rng.uniform(0, 0.1))  # somewhere in a job
            victim.kill()
            await victim.start()
        await until_ended(database, SLOTS)
        async with connected(nats) as connection:
            await until_settled(connection)
            for number in range(0, SLOTS, 10):  # asked for again, later than the bus remembers
                await JobPublisher(connection).again("work", f"slot-{number}", "schedule")
            await until_settled(connection)
    ended = await database.fetch("SELECT slot, count(*) AS times FROM ended GROUP BY slot")
    runs = await database.fetch("SELECT slot, state, losses, attempt FROM job_run")
    overlaps = await database.fetchval("SELECT count(*) FROM overlap")
    await database.close()
    assert {row["slot"] for row in ended} == {f"slot-{number}" for number in range(SLOTS)}, "none is lost"
    assert {row["times"] for row in ended} == {1}, "none is doubled"
    assert len(runs) == SLOTS
    assert {row["state"] for row in runs} == {"done"}
    assert overlaps == 0, "no two were at one slot"
    assert sum(row["losses"] for row in runs) >= KILLS // 2, "most kills hit a node in the middle of a job"
