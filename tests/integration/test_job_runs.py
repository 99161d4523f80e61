"""Jobs over a real Postgres and a real NATS server: each slot is done once, whatever happens to who runs it."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import anyio
import asyncpg
import pytest
from anyio import to_thread

from recalld.bus import subjects
from recalld.bus.connection import Connection
from recalld.bus.jobs import JobConsumer, JobPublisher
from recalld.errors import UsageError
from recalld.foundation import now
from recalld.jobs.job import JobRequest, Progress
from recalld.store import Store
from recalld.store.jobs import Claim, NotYours
from tests.support.bus import connected
from tests.support.job_runs import SLOT, Job, claimed, only_run
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


async def test_a_slot_is_held_by_one_and_taken_over_when_its_session_ends(store: Store, postgres: str) -> None:
    async with claimed(store, "one") as first:
        assert isinstance(first, Claim)
        async with claimed(store, "two") as second:
            assert second is NotYours.HELD
        async with claimed(store, "two", "20261130T043000Z") as other:
            assert isinstance(other, Claim)
        admin = await asyncpg.connect(postgres)
        await admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database d ON d.oid = database "
            "WHERE locktype = 'advisory' AND datname = current_database()"
        )
        await admin.close()
        async with claimed(store, "two") as second:
            assert isinstance(second, Claim)
            assert (second.dead, second.run.attempt, second.run.losses) == ("one", 2, 1)
            assert not await store.jobs.end(first.run, "done", at=now()), "the word of the first counts no longer"
            assert await store.jobs.end(second.run, "done", at=now(), result={"n": 1})
            assert await second.beat(words="", share=None, at=now()) is None
    async with claimed(store, "three") as third:
        assert third is NotYours.ENDED
    row = next(row for row in await store.jobs.list(name="lint") if row.slot == SLOT)
    assert (row.state, row.node, row.attempt, row.result) == ("done", "two", 2, {"n": 1})


async def test_what_is_no_name_or_slot_is_not_asked_for(bus: Connection) -> None:
    for name, slot in (("lint", "a b"), ("lint.>", "now"), ("lint", "")):
        with pytest.raises(UsageError, match="cannot be asked for"):
            await JobPublisher(bus).publish(name, slot)


async def test_no_slot_takes_the_place_of_another(bus: Connection) -> None:
    publisher = JobPublisher(bus)
    for hour in range(5):
        for _ in range(2):
            await publisher.publish("lint", f"20261130T0{hour}0000Z")
        await publisher.again("lint", f"20261130T0{hour}0000Z", "alice")
    assert await publisher.unsettled() == 5
    info = await bus.jetstream.stream_info(subjects.JOB_STREAM)
    assert (info.config.max_age, info.config.duplicate_window) == (7 * 86_400, 3_600)
    seen: list[JobRequest] = []
    stop = anyio.Event()

    async def work(request: JobRequest) -> float | None:
        seen.append(request)
        if len(seen) == 5:
            stop.set()
        return None

    with anyio.fail_after(10):
        await JobConsumer(bus).run(work, stop)
    assert [request.slot[9:11] for request in seen] == ["00", "01", "02", "03", "04"]
    assert {request.requested_by for request in seen} == {"alice"}


async def test_a_request_on_which_the_work_breaks_comes_again(
    bus: Connection, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("recalld.bus.jobs.DELAY_S", 0.01)
    times, stop = [0], anyio.Event()

    async def work(request: JobRequest) -> float | None:
        times[0] += 1
        if times[0] == 2:
            stop.set()
            return None
        raise ValueError("a fault of ours")

    await JobPublisher(bus).publish("lint", SLOT)
    with anyio.fail_after(10):
        await JobConsumer(bus).run(work, stop)
    assert "a fault of ours" in caplog.text


async def test_a_slot_is_run_once_however_many_ask(nats: str, bus: Connection, store: Store) -> None:
    job, announced = Job(), Announced()
    async with (
        connected(nats) as other,
        running_jobs(bus, store, announced, {"lint": job}),
        running_jobs(other, store, announced, {"lint": job}, node="two"),
    ):
        for connection in (bus, other, bus):
            await JobPublisher(connection).publish("lint", SLOT)
        done = await announced.until("job.done")
        await JobPublisher(other).publish("lint", SLOT)
        await JobPublisher(other).again("lint", SLOT, "schedule")
        await JobPublisher(other).publish("lint", "20261201T033000Z")
        await announced.until("job.done", 2)
        await until_settled(bus)
    assert job.starts == 2
    assert done == {"run": done["run"], "name": "lint", "slot": SLOT, "attempt": 1, "result": {"ends": 1}}
    assert [row.state for row in await store.jobs.list()] == ["done", "done"]


async def test_what_was_done_before_its_ack_was_lost_is_not_run_again(bus: Connection, store: Store) -> None:
    """A node that dies between the commit and the ack."""
    job, announced = Job(), Announced()
    async with claimed(store, "one") as claim:
        assert isinstance(claim, Claim)
        assert await store.jobs.end(claim.run, "done", at=now())
    await JobPublisher(bus).publish("lint", SLOT)
    async with running_jobs(bus, store, announced, {"lint": job}):
        await until_settled(bus)
    assert (job.starts, announced.seen) == (0, [])


async def test_a_job_that_fails_is_tried_again_and_given_up(bus: Connection, store: Store) -> None:
    announced = Announced()

    async def bad(_: Progress) -> dict[str, Any]:
        raise ValueError("no")

    async with running_jobs(bus, store, announced, {"bad": bad}):
        await JobPublisher(bus).publish("bad", SLOT)
        await JobPublisher(bus).publish("unknown", SLOT)
        await announced.until("job.failed", 6)
        await until_settled(bus)
    failed = announced.of("job.failed")
    assert [data["given_up"] for data in failed if data["name"] == "bad"] == [False, False, True]
    assert {data["reason"] for data in failed} == {"ValueError: no", "this node has no job unknown"}
    rows = {row.name: row for row in await store.jobs.list()}
    assert (rows["bad"].state, rows["bad"].failures, rows["bad"].error) == ("failed", 3, "ValueError: no")


async def test_a_stop_hands_the_slot_back_to_others(nats: str, bus: Connection, store: Store) -> None:
    slow, quick, announced = Job(waits=True), Job(), Announced()
    async with connected(nats) as other:
        async with running_jobs(bus, store, announced, {"lint": slow}):
            await JobPublisher(bus).publish("lint", SLOT)
            await slow.begun.wait()
        assert (await only_run(store)).state == "queued"
        assert "was stopped in the middle" in (await only_run(store)).error
        async with running_jobs(other, store, announced, {"lint": quick}, node="two"):
            await announced.until("job.done", timeout=5)
    row = await only_run(store)
    assert (row.state, row.node, row.attempt, row.failures, row.losses) == ("done", "two", 2, 0, 0)
    assert announced.topics[:2] == ["job.started", "job.handed_back"]


async def test_a_job_that_hangs_is_stopped_and_reported(bus: Connection, store: Store) -> None:
    job, announced = Job(waits=True), Announced()
    async with running_jobs(bus, store, announced, {"lint": job}, timeout_s=lambda name: 0.2):
        await JobPublisher(bus).publish("lint", SLOT)
        told = await announced.until("job.timed_out")
        await until_settled(bus)
    assert told["reason"] == "it took longer than 0.2 s"
    row = await only_run(store)
    assert (row.state, row.words, row.share) == ("timed_out", "at work", 0.25)
    assert job.ends == 0


async def test_a_job_that_will_not_end_is_reported_and_left_behind(bus: Connection, store: Store) -> None:
    """The node goes on with other jobs, and with this one when it has ended."""
    announced, release = Announced(), threading.Event()

    async def stubborn(_: Progress) -> dict[str, Any]:
        await to_thread.run_sync(release.wait)
        return {}

    async with running_jobs(
        bus, store, announced, {"stubborn": stubborn, "lint": Job()}, timeout_s=lambda name: 0.1, delay_s=0.1
    ):
        await JobPublisher(bus).publish("stubborn", SLOT)
        told = await announced.until("job.timed_out")
        assert told["stuck"] is True
        await JobPublisher(bus).publish("stubborn", "next")
        await JobPublisher(bus).publish("lint", SLOT)
        await announced.until("job.done")
        assert len(announced.of("job.started")) == 2
        release.set()
        await announced.until("job.done", 2)
    assert [row.state for row in await store.jobs.list(name="stubborn")] == ["done", "timed_out"]


async def test_a_running_job_and_one_that_waits_are_cancelled(nats: str, bus: Connection, store: Store) -> None:
    job, announced = Job(waits=True), Announced()
    async with running_jobs(bus, store, announced, {"lint": job}):
        waiting = await store.jobs.ask("lint", "manual-1", by="alice", at=now())
        await JobPublisher(bus).publish("lint", SLOT)
        await job.begun.wait()
        await JobPublisher(bus).publish("lint", "manual-1", "alice")
        running = next(row for row in await store.jobs.list() if row.slot == SLOT)
        called_off = await store.jobs.cancel(waiting.id, by="alice", at=now())
        assert called_off is not None
        assert called_off.state == "cancelled"
        with anyio.fail_after(2):
            asked = await store.jobs.cancel(running.id, by="bob", at=now())
            told = await announced.until("job.cancelled")
        await until_settled(bus)
    assert asked is not None
    assert (asked.state, asked.cancelled_by) == ("running", "bob")
    assert told["reason"] == "cancelled by bob"
    assert job.starts == 1
    assert {row.state for row in await store.jobs.list()} == {"cancelled"}
    again = await store.jobs.cancel(running.id, by="eve", at=now())
    assert again is not None
    assert again.cancelled_by == "bob"
    assert await store.jobs.cancel(4711, by="eve", at=now()) is None


async def test_what_a_dead_node_was_told_to_cancel_is_not_run_by_the_next(bus: Connection, store: Store) -> None:
    job, announced = Job(), Announced()
    async with claimed(store, "one") as claim:
        assert isinstance(claim, Claim)
        await store.jobs.cancel(claim.run.id, by="bob", at=now())
    await JobPublisher(bus).publish("lint", SLOT)
    async with running_jobs(bus, store, announced, {"lint": job}, node="two"):
        await announced.until("job.cancelled")
    assert announced.topics == ["job.lost", "job.cancelled"]
    assert job.starts == 0


async def test_progress_is_told_and_kept_while_a_job_runs(bus: Connection, store: Store) -> None:
    job, announced = Job(waits=True), Announced()
    async with running_jobs(bus, store, announced, {"lint": job}):
        await JobPublisher(bus).publish("lint", SLOT)
        told = await announced.until("job.progress")
        row = await only_run(store)
        while (await only_run(store)).beat_at == row.beat_at:  # noqa: ASYNC110 - nothing new is told meanwhile
            await anyio.sleep(0.01)
        job.go_on.set()
        await announced.until("job.done")
    assert (told["done"], told["total"], told["words"]) == (1, 4, "at work")
    assert (row.state, row.words, row.share) == ("running", "at work", 0.25)
    assert len(announced.of("job.progress")) == 1
    assert (await only_run(store)).share == 1


async def test_history_is_listed_and_pruned(store: Store) -> None:
    for hour in range(4):
        async with claimed(store, "one", f"20261130T0{hour}0000Z") as claim:
            assert isinstance(claim, Claim)
            if hour:
                assert await store.jobs.end(claim.run, "done", at=now() - timedelta(days=hour), result={"hour": hour})
    assert [row.slot[9:11] for row in await store.jobs.list(limit=2)] == ["03", "02"]
    assert [row.slot[9:11] for row in await store.jobs.last()] == ["03"]
    assert await store.jobs.list(name="verify") == []
    assert await store.jobs.prune(now() - timedelta(days=1.5)) == 2
    assert {row.state for row in await store.jobs.list()} == {"running", "done"}
