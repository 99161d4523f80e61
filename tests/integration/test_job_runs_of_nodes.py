"""Slots whose nodes are slow, paused or dead, and what becomes of runs when a database or its session goes away."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import anyio
import asyncpg
import pytest

from recalld.bus import subjects
from recalld.bus.connection import Connection
from recalld.bus.jobs import JobConsumer, JobPublisher
from recalld.foundation import now
from recalld.jobs.job import JobRequest
from recalld.store import Store
from tests.support.bus import connected
from tests.support.job_runs import SLOT, Job, claimed, only_run, redelivered
from tests.support.jobs import Announced, running_jobs, until_settled


@pytest.fixture
async def store(postgres: str) -> AsyncIterator[Store]:
    opened = await Store.open(postgres)
    yield opened
    await opened.aclose()


@pytest.fixture
async def bus(nats: str) -> AsyncIterator[Connection]:
    async with connected(nats) as connection:
        yield connection


async def test_a_job_longer_than_the_ack_wait_is_not_given_to_another(nats: str, bus: Connection, store: Store) -> None:
    job, announced = Job(waits=True), Announced()
    async with (
        connected(nats) as other,
        running_jobs(bus, store, announced, {"lint": job}),
        running_jobs(other, store, announced, {"lint": job}, node="two"),
    ):
        await JobPublisher(bus).publish("lint", SLOT)
        await job.begun.wait()
        with anyio.move_on_after(2.2):
            await announced.until("job.lost")
        job.go_on.set()
        await announced.until("job.done")
    assert job.starts == 1


async def test_a_node_that_is_only_paused_keeps_its_slot_until_it_dies(bus: Connection, store: Store) -> None:
    """The bus thinks that it is dead and asks another; its session still holds the lock."""
    job, announced = Job(), Announced()
    async with running_jobs(bus, store, announced, {"lint": job}, node="two"):
        async with claimed(store, "paused"):
            await JobPublisher(bus).publish("lint", SLOT)
            with anyio.fail_after(10):
                while not await redelivered(bus):  # noqa: ASYNC110 - the server tells nobody
                    await anyio.sleep(0.02)
            assert job.starts == 0
        await announced.until("job.done")
    assert announced.of("job.lost")[0]["node"] == "paused"
    assert (await only_run(store)).attempt == 2


async def test_a_changed_ack_wait_is_taken_up(bus: Connection) -> None:
    async def work(request: JobRequest) -> float | None:
        stop.set()
        return None

    for number, ack_wait_s in enumerate((30.0, 5.0)):
        stop = anyio.Event()
        await JobPublisher(bus).publish("lint", f"slot-{number}")
        with anyio.fail_after(10):
            await JobConsumer(bus, ack_wait_s).run(work, stop)
        info = await bus.jetstream.consumer_info(subjects.JOB_STREAM, subjects.JOB_CONSUMER)
        assert info.config.ack_wait == ack_wait_s


async def test_when_postgres_ends_its_session_the_run_fails_and_is_tried_again(
    bus: Connection, store: Store, postgres: str
) -> None:
    job, announced = Job(waits=True), Announced()
    async with running_jobs(bus, store, announced, {"lint": job}):
        await JobPublisher(bus).publish("lint", SLOT)
        await job.begun.wait()
        admin = await asyncpg.connect(postgres)
        await admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        await admin.close()
        told = await announced.until("job.failed")
        job.go_on.set()
        await announced.until("job.done")
    assert told["given_up"] is False
    assert "the claim on the slot was lost" in told["reason"]
    row = await only_run(store)
    assert (row.state, row.attempt, job.ends) == ("done", 2, 1)


async def test_a_run_that_nothing_is_heard_of_is_asked_for_again(bus: Connection, store: Store) -> None:
    """Its node died, and its request was lost with the storage of the bus; so was that of one that only waits."""
    job, announced = Job(), Announced()
    long_ago = now() - timedelta(hours=1)
    async with store.jobs.claim("lint", SLOT, node="dead", by="schedule", at=long_ago):
        pass
    await store.jobs.ask("lint", "manual-1", by="alice", at=long_ago)
    async with running_jobs(bus, store, announced, {"lint": job}) as runs:
        await runs.look()
        await announced.until("job.done", 2)
        await runs.look()
        await until_settled(bus)
    assert announced.of("job.lost")[0]["node"] == "dead"
    assert sorted((row.slot, row.state, row.losses) for row in await store.jobs.list()) == [
        (SLOT, "done", 1), ("manual-1", "done", 0),
    ]  # fmt: skip


async def test_a_slot_whose_nodes_die_one_after_another_is_given_up(bus: Connection, store: Store) -> None:
    job, announced = Job(), Announced()
    for number in range(4):
        async with claimed(store, f"node-{number}"):
            pass
    await JobPublisher(bus).publish("lint", SLOT)
    async with running_jobs(bus, store, announced, {"lint": job}, losses=3):
        told = await announced.until("job.failed")
        await until_settled(bus)
    assert (told["given_up"], told["reason"], job.starts) == (True, "4 nodes died while they ran it", 0)


async def test_a_store_that_is_away_leaves_the_request_on_the_bus(
    bus: Connection, empty_postgres: str, caplog: pytest.LogCaptureFixture
) -> None:
    """An index node over a database without its tables: nothing is lost."""
    job, announced = Job(), Announced()
    connection = await asyncpg.connect(empty_postgres)
    await connection.execute("CREATE EXTENSION vector")
    await connection.close()
    store = await Store.open(empty_postgres)
    try:
        async with running_jobs(bus, store, announced, {"lint": job}):
            await JobPublisher(bus).publish("lint", SLOT)
            with anyio.fail_after(10):
                while caplog.text.count("must wait: the database has another schema") < 2:  # noqa: ASYNC110
                    await anyio.sleep(0.02)
        assert await JobPublisher(bus).unsettled() == 1
    finally:
        await store.aclose()
