"""Counts of use, lessons that are not indexed yet, and turns: in a real Postgres."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import anyio
import pytest

from recalld.errors import DependencyError, NotFoundError
from recalld.store import Store
from recalld.store.lessons import Moved, Run
from recalld.store.usage import Counted, Usage, UsageLog, Use
from tests.support.stored import AT, add_generation, add_repo, sha, write

LATER = AT + timedelta(hours=1)


@pytest.fixture
async def store(postgres: str) -> AsyncIterator[Store]:
    opened = await Store.open(postgres)
    yield opened
    await opened.aclose()


async def test_uses_add_up(store: Store) -> None:
    repo = await add_repo(store)
    times = iter((AT, LATER, LATER, LATER))
    log = UsageLog(store.usage, lambda: next(times))
    log.note("surfaced", "memory", ["lessons/a.md", "rules/b.md#one"])
    log.note("retrieved", "memory", ["lessons/a.md"])
    log.note("surfaced", "gone", ["x.md"])
    await log.flush()
    log.note("surfaced", "memory", ["lessons/a.md"])
    await log.flush()
    marked = await store.usage.mark("memory", "lessons/a.md", "helped", LATER)
    assert marked == Use(2, 1, 1, 0, 0, AT, LATER)
    assert await store.usage.of_repo(repo.id) == {
        "lessons/a.md": marked,
        "rules/b.md#one": Use(surfaced=1, first_at=AT, last_at=AT),
    }
    with pytest.raises(NotFoundError):
        await store.usage.mark("gone", "a", "failed", AT)
    since = await store.usage.counted_since(repo.id)
    assert since is not None
    assert since > AT
    await store.repos.remove("memory")
    assert await store.usage.of_repo(repo.id) == {}


async def test_notes_are_bounded_and_dropped_while_postgres_is_away(store: Store) -> None:
    await add_repo(store)

    class Away(Usage):
        async def add(self, counts: object) -> list[Use]:
            raise DependencyError("Postgres cannot be reached")

    log = UsageLog(Away(store._database), lambda: AT, most=2)
    log.note("surfaced", "memory", ["a", "b", "c"])
    assert log.dropped == 1
    await log.flush()
    assert log.dropped == 3
    log.usage = store.usage
    log.note("surfaced", "memory", ["d"])
    async with anyio.create_task_group() as group:
        group.start_soon(log.run)
        await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert [use.surfaced for use in await store.usage.add([Counted("memory", "d", Use(first_at=AT, last_at=AT))])] == [
        1
    ]


async def test_a_lesson_is_known_before_it_is_indexed(store: Store) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    await store.lessons.written(repo.id, "lessons/a.md", "text a", sha("text a"), AT)
    await store.lessons.written(repo.id, "lessons/b.md", "text b", sha("text b"), AT)
    await write(store, repo, generation, "lessons/a.md", "text a", kind="lesson")
    await write(store, repo, generation, "notes/c.md", "text c")
    assert [file.path for file in await store.lessons.unindexed(repo.id, "memory")] == ["lessons/b.md"]
    assert [file.path for file in await store.lessons.memory(repo.id, ["lesson"])] == ["lessons/a.md"]
    await store.lessons.not_there(repo.id, "lessons/b.md")
    assert await store.lessons.unindexed(repo.id, "memory") == []
    await store.lessons.written(repo.id, "lessons/d.md", "text d", sha("text d"), AT)
    await store.lessons.written(repo.id, "lessons/e.md", "text e", sha("text e"), AT + timedelta(days=2))
    assert [file.path for file in await store.lessons.unindexed(repo.id, "memory")] == ["lessons/e.md"]


async def test_one_at_a_time(store: Store) -> None:
    repo = await add_repo(store)
    order: list[str] = []
    first_has_it, second_may = anyio.Event(), anyio.Event()

    async def first() -> None:
        async with store.lessons.turn(repo.id):
            first_has_it.set()
            await second_may.wait()
            order.append("first")

    async def second() -> None:
        await first_has_it.wait()
        second_may.set()
        async with store.lessons.turn(repo.id):
            order.append("second")

    async with anyio.create_task_group() as group:
        group.start_soon(second)
        group.start_soon(first)
    assert order == ["first", "second"]


async def test_runs(store: Store) -> None:
    repo = await add_repo(store)
    run = Run(
        "r1", "memory", "prune", datetime(2026, 1, 1, tzinfo=UTC), "alice", (Moved("a\udcff", "b", "h"),), (("c", "i"),)
    )
    await store.lessons.add_run(repo.id, run)
    assert await store.lessons.runs([repo.id]) == [run]
    await store.lessons.undone("r1", AT)
    [found] = await store.lessons.runs([repo.id], id_="r1")
    assert found.undone_at == AT
    await store.lessons.drop_run("r1")
    assert await store.lessons.runs([repo.id], id_="r1") == []
