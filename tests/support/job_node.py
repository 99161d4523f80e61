"""A process that runs jobs as a daemon's index role does: ``python -m tests.support.job_node NATS DSN NAME SEED``.

Its one job takes a moment, and looks whether another process is at the same slot; what it finds stands in ``overlap``.
"""

from __future__ import annotations

import random
import sys
from functools import partial
from typing import Any

import anyio
import asyncpg

from recalld.bus.jobs import JobConsumer, JobPublisher
from recalld.foundation import now
from recalld.jobs.job import JobRequest, Progress
from recalld.jobs.runs import JobRuns, Limits
from recalld.store import Store
from tests.support.bus import connected

ACK_WAIT_S = 1.0
LONGEST_S = 0.12
WITNESS = 4711
"""First key of the advisory locks that the job itself takes, a number for each slot."""
LIMITS = Limits(timeout_s=lambda name: 20.0, delay_s=0.2, held_s=0.2, beat_s=0.2)


class WitnessedRuns:
    """Runs slots whose names end in a number, and remembers which one for the job."""

    def __init__(self, runs: JobRuns) -> None:
        self.runs = runs
        self.slot = 0

    async def __call__(self, request: JobRequest) -> float | None:
        self.slot = int(request.slot.rpartition("-")[2])
        return await self.runs(request)


async def main(nats: str, dsn: str, name: str, seed: int) -> None:
    rng = random.Random(seed)
    store = await Store.open(dsn)
    witness = await asyncpg.connect(dsn)

    async def work(progress: Progress) -> dict[str, Any]:
        slot = witnessed.slot
        if not await witness.fetchval("SELECT pg_try_advisory_lock($1, $2)", WITNESS, slot):
            await witness.execute("INSERT INTO overlap VALUES ($1, $2)", slot, name)
        for step in range(3):
            progress(step, 3, "at work")
            await anyio.sleep(rng.uniform(0, LONGEST_S / 3))
        await witness.execute("SELECT pg_advisory_unlock($1, $2)", WITNESS, slot)
        return {"by": name}

    async def announce(topic: str, data: object) -> None:
        return

    async with connected(nats) as connection:
        runs = JobRuns(store, {"work": work}, announce, JobPublisher(connection).again, name, LIMITS, now)
        witnessed = WitnessedRuns(runs)
        async with runs.open(), anyio.create_task_group() as group:
            await group.start(JobConsumer(connection, ACK_WAIT_S).run, witnessed, anyio.Event())
            sys.stdout.write("ready\n")
            sys.stdout.flush()


if __name__ == "__main__":
    anyio.run(partial(main, *sys.argv[1:4], int(sys.argv[4])))
