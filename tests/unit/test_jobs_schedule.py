"""The clock that asks for jobs: late, started anew, without a bus; each slot by its planned time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import pytest

from recalld.errors import DependencyError
from recalld.jobs import schedule as module
from recalld.jobs.schedule import Schedule
from recalld.jobs.slots import Plan, times_of

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@dataclass
class Bus:
    """Takes requests, or does not; and the clock."""

    now: datetime = NOON + timedelta(minutes=10)
    refuses: bool = False
    tries: int = 0
    asked: list[tuple[str, str]] = field(default_factory=list)
    told: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    changed: anyio.Event = field(default_factory=anyio.Event)

    async def publish(self, name: str, slot: str) -> None:
        self.tries += 1
        self._notify()
        if self.refuses:
            raise DependencyError("no connection")
        self.asked.append((name, slot))

    async def announce(self, topic: str, data: Mapping[str, Any]) -> None:
        self.told.append((topic, data))
        self._notify()

    def _notify(self) -> None:
        self.changed.set()
        self.changed = anyio.Event()

    @asynccontextmanager
    async def schedule(self, when: str = "every 1h", grace: timedelta = timedelta(hours=1)) -> AsyncIterator[None]:
        times = times_of("schedule.lint", when)
        assert times is not None
        plan = Plan("lint", times, timedelta(0), grace)
        stop = anyio.Event()
        schedule = Schedule([plan], self.publish, self.announce, "one", lambda: self.now)
        async with anyio.create_task_group() as group:
            group.start_soon(schedule.run, stop)
            yield
            stop.set()

    async def until_tries(self, count: int) -> None:
        with anyio.fail_after(5):
            while self.tries < count:
                await self.changed.wait()

    async def until_told(self, count: int) -> None:
        with anyio.fail_after(5):
            while len(self.told) < count:
                await self.changed.wait()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY_S", 0.01)
    monkeypatch.setattr(module, "LOOK_S", 0.02)


async def test_at_its_start_it_asks_for_the_newest_slot() -> None:
    bus = Bus()
    async with bus.schedule():
        await bus.until_tries(1)
        with anyio.move_on_after(0.1):
            await bus.until_tries(2)
    assert bus.asked == [("lint", "20261130T120000Z")]
    assert bus.told == []


async def test_what_is_older_than_the_grace_is_left_out() -> None:
    bus = Bus()
    async with bus.schedule(grace=timedelta(minutes=5)):
        with anyio.move_on_after(0.1):
            await bus.until_tries(1)
        bus.now = NOON + timedelta(hours=1, minutes=1)
        await bus.until_tries(1)
    assert bus.asked == [("lint", "20261130T130000Z")]


async def test_of_several_that_were_missed_the_newest_is_asked_for_and_it_is_told() -> None:
    """The machine slept: timers ring when they like, the clock is looked at."""
    bus = Bus()
    async with bus.schedule():
        await bus.until_tries(1)
        bus.now = NOON + timedelta(hours=5, minutes=30)
        await bus.until_told(1)
    assert [slot for _, slot in bus.asked] == ["20261130T120000Z", "20261130T170000Z"]
    assert bus.told == [("job.missed", {"name": "lint", "slots": 4, "last": "20261130T160000Z"})]


async def test_without_a_bus_a_slot_is_asked_for_until_it_is_taken() -> None:
    bus = Bus(refuses=True)
    async with bus.schedule():
        await bus.until_tries(3)
        bus.refuses = False
        await bus.until_tries(bus.tries + 1)
    assert bus.asked == [("lint", "20261130T120000Z")]


async def test_without_a_bus_for_too_long_a_slot_is_missed_and_the_next_is_not() -> None:
    bus = Bus()
    async with bus.schedule(grace=timedelta(minutes=20)):
        await bus.until_tries(1)
        bus.refuses, bus.now = True, NOON + timedelta(hours=1)
        await bus.until_tries(3)
        bus.now = NOON + timedelta(hours=1, minutes=30)
        await bus.until_told(1)
        bus.refuses, bus.now = False, NOON + timedelta(hours=2)
        await bus.until_tries(bus.tries + 1)
    assert [slot for _, slot in bus.asked] == ["20261130T120000Z", "20261130T140000Z"]
    assert bus.told == [("job.missed", {"name": "lint", "slots": 1, "last": "20261130T130000Z"})]


async def test_it_ticks_by_itself() -> None:
    """With the real clock: APScheduler rings at each slot."""
    bus = Bus()
    times = times_of("schedule.lint", "every 1s")
    assert times is not None
    plan = Plan("lint", times, timedelta(milliseconds=100), timedelta(hours=1))
    stop = anyio.Event()
    schedule = Schedule([plan], bus.publish, bus.announce, "one", lambda: datetime.now(UTC))
    async with anyio.create_task_group() as group:
        group.start_soon(schedule.run, stop)
        await bus.until_tries(3)
        stop.set()
    slots = [datetime.strptime(slot, "%Y%m%dT%H%M%SZ") for _, slot in bus.asked[:3]]
    assert slots[1] - slots[0] == slots[2] - slots[1] == timedelta(seconds=1)
    assert bus.told == []
