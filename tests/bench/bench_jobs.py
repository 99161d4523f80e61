"""Jobs: two daemons run 200 scheduled slots while one or the other is killed ten times: lost ones, doubled ones."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import asyncpg

from recalld.bus.client import RecallClient
from recalld.embedded.postgres import EmbeddedPostgres
from recalld.jobs.slots import Interval, slot_name
from tests.bench.figure import Figure, report
from tests.support.daemon import Daemon, running
from tests.support.directories import short_directory
from tests.support.jobs import WITNESSES
from tests.support.nats import fresh_nats
from tests.support.repos import on_disk, write_memos
from tests.support.waiting import until_indexed

SLOTS = 200
KILLS = 10
MEMOS = 400
PERIOD = timedelta(seconds=2)
JOBS = ("calibrate-drift", "lint", "retention", "verify")
SEED = 8


async def measure() -> list[Figure]:
    """Let the clocks of two daemons ask for four jobs every two seconds, and kill one at random every now and then."""
    async with AsyncExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        base = stack.enter_context(short_directory())
        write_memos(root, range(MEMOS), words=40)
        postgres = await stack.enter_async_context(await EmbeddedPostgres.start(base / "store"))
        nats = await stack.enter_async_context(fresh_nats())
        bus = {"RECALLD_STORE__DSN": postgres.dsn, "RECALLD_BUS__SERVERS": nats}
        await stack.enter_async_context(
            running(base / "others", "--roles", "watch,serve", RECALLD_NODE__NAME="others", **bus)
        )
        database = await asyncpg.connect(postgres.dsn)
        await database.execute(WITNESSES)
        client = await stack.enter_async_context(RecallClient(nats, agent="bench"))
        one, two = [_daemon(base, name, bus) for name in ("one", "two")]
        for each in (one, two):
            await each.start()
            stack.push_async_callback(each.stop)
        await client.repo_add(str(root), name="memory", node="others")
        await until_indexed(client, "memory", on_disk(root))
        slots = await _disturbed({"one": one, "two": two}, client)
        return await _figures(database, client, slots)


def _daemon(base: Path, name: str, bus: dict[str, str]) -> Daemon:
    times = {f"RECALLD_SCHEDULE__{job.replace('-', '_').upper()}": "every 2s" for job in JOBS}
    quick = {"RECALLD_SCHEDULE__ACK_WAIT_S": "1", "RECALLD_SCHEDULE__JITTER_S": "0"}
    return Daemon(base / name, {**bus, **times, **quick, "RECALLD_NODE__NAME": name}, ("--roles", "index,schedule"))


async def _disturbed(daemons: Mapping[str, Daemon], client: RecallClient) -> set[tuple[str, str]]:
    """Kill and start again, ten times at random, each soon after the victim began a job; return the slots meanwhile."""
    rng = random.Random(SEED)
    lasts = PERIOD * (SLOTS // len(JOBS))
    begun = Interval(PERIOD).after(datetime.now(UTC))
    for moment in sorted(rng.uniform(0, lasts.total_seconds() - 25) for _ in range(KILLS)):
        await _until(begun + timedelta(seconds=moment))
        victim = rng.choice(sorted(daemons))
        await _begins(client, victim)
        await anyio.sleep(rng.uniform(0, 0.05))
        await daemons[victim].kill()
        await daemons[victim].start()
    await _until(begun + lasts)
    planned = [begun + PERIOD * number for number in range(SLOTS // len(JOBS))]
    return {(job, slot_name(slot)) for job in JOBS for slot in planned}


async def _until(moment: datetime) -> None:
    await anyio.sleep(max(0.0, (moment - datetime.now(UTC)).total_seconds()))


async def _begins(client: RecallClient, node: str) -> None:
    """Return when a node begins one of the longer jobs; not much later than its turn comes."""
    with anyio.move_on_after(10):
        async with client.follow("job.started") as events:
            async for event in events:
                if event.node == node and event.data["name"] in ("lint", "verify"):
                    return


async def _figures(database: asyncpg.Connection, client: RecallClient, slots: set[tuple[str, str]]) -> list[Figure]:
    lost = slots
    with anyio.move_on_after(60):
        while lost:
            rows = await database.fetch("SELECT name, slot FROM ended")
            lost = slots - {(row["name"], row["slot"]) for row in rows}
            await anyio.sleep(0.5)
    ended = Counter((row["name"], row["slot"]) for row in await database.fetch("SELECT name, slot FROM ended"))
    doubled = [slot for slot, times in ended.items() if times > 1]
    again = await database.fetchval("SELECT coalesce(sum(losses), 0) FROM job_run")
    missed = sum(event.data["slots"] for event in (await client.events(limit=1_000, topic="job.missed")).events)
    await database.close()
    baseline = f"{KILLS} kills, {again} of them in the middle of a job, {missed} slots told as missed"
    return [
        Figure("jobs: scheduled slots that were done once", len(slots) - len(lost) - len(doubled), f"of {len(slots)}",
               baseline, "all", not lost and not doubled),
        Figure("jobs: slots lost", len(lost), "slots", baseline, "0", not lost),
        Figure("jobs: slots doubled", len(doubled), "slots", baseline, "0", not doubled),
    ]  # fmt: skip


if __name__ == "__main__":
    report(measure)
