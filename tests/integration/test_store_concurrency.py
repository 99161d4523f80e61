"""Writers of all kinds at once: nothing is lost, nothing is left over, and no two wait for each other in a ring."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable

import anyio
import asyncpg
import pytest

from recalld.errors import RetryLater
from recalld.model import Filters, Position
from recalld.store import Outcome, Store
from tests.support.integrity import faults
from tests.support.stored import AT, add_generation, add_repo, chunk, document_write, reread, snapshot, write

WORDS = [f"w{number}" for number in range(120)]


@pytest.fixture
async def store(postgres: str) -> AsyncIterator[Store]:
    opened = await Store.open(postgres, pool_size=12)
    yield opened
    await opened.aclose()


async def together(*jobs: Callable[[], Awaitable[object]]) -> None:
    async with anyio.create_task_group() as group:
        for job in jobs:
            group.start_soon(job)


async def test_writers_of_one_document_leave_the_latest(store: Store, postgres: str) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    outcomes: list[Outcome] = []

    async def one(seq: int) -> None:
        words = random.Random(seq).sample(WORDS, 40)
        outcomes.append(await write(store, repo, generation, "a.md", f"v{seq}", " ".join(words), seq=seq))

    await together(*(lambda seq=seq: one(seq) for seq in random.Random(1).sample(range(1, 41), 40)))
    document = await store.documents.get("memory", "a.md")
    assert document is not None
    assert document.text.startswith("v40\n")
    assert document.position == Position(1, 40)
    assert set(outcomes) <= {Outcome.WRITTEN, Outcome.STALE}
    assert await faults(postgres) == {}


async def test_any_order_and_any_replay_ends_the_same(store: Store, postgres: str) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    rng = random.Random(2)
    kinds = ["write", "write", "write", "delete", "skip", "fail"]
    events = [(seq, f"{rng.randrange(6)}.md", rng.choice(kinds)) for seq in range(1, 61)]
    last = {path: (seq, kind) for seq, path, kind in events}

    async def one(seq: int, path: str, kind: str) -> None:
        seen = snapshot(path, f"v{seq}")
        if kind == "write":
            await write(store, repo, generation, path, f"v{seq}", "shared words here", seq=seq)
        elif kind == "delete":
            await store.documents.delete(repo.id, path, Position(1, seq), at=AT)
        elif kind == "skip":
            await store.documents.skip(repo.id, seen, Position(1, seq), at=AT)
        else:
            await store.documents.fail(repo.id, seen, Position(1, seq), "broken", at=AT)

    replayed = events + rng.sample(events, 30)
    rng.shuffle(replayed)
    await together(*(lambda event=event: one(*event) for event in replayed))
    ends = {"write": "indexed", "delete": "deleted", "skip": "skipped", "fail": "failed"}
    manifest = await store.documents.manifest(repo.id, after=None, limit=99)
    assert {entry.path: (entry.position.seq, str(entry.state)) for entry in manifest} == {
        path: (seq, ends[kind]) for path, (seq, kind) in last.items()
    }
    for path, (seq, kind) in last.items():
        document = await store.documents.get("memory", path)
        if kind == "write":
            assert document is not None
            assert document.text.startswith(f"v{seq}\n")
        elif kind != "fail":
            assert document is None
    assert await faults(postgres) == {}


async def test_everything_at_once(store: Store, postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writers of the same words, deletions, forgetting, a build, a switch, drops, a removal, and pruning."""
    monkeypatch.setattr("recalld.store.generations._BITE", 3)
    monkeypatch.setattr("recalld.store.repos._BITE", 3)
    repo, other = await add_repo(store), await add_repo(store, "other")
    old = await add_generation(store, "old")
    new = await add_generation(store, "new")
    refused = 0

    async def writer(number: int) -> None:
        nonlocal refused
        rng = random.Random(number)
        for turn in range(12):
            place = rng.choice([repo, repo, other])
            path = f"{rng.randrange(8)}.md"
            seq = turn * 10 + number
            chunks = [chunk(" ".join(rng.sample(WORDS, 30)), 0), chunk(f"same {rng.randrange(5)}", 1)]
            live = [row.id for row in await store.stats.generations() if row.state != "retired"]
            targets = dict.fromkeys(rng.sample(live, len(live)), chunks)
            try:
                if rng.random() < 0.2:
                    await store.documents.delete(place.id, path, Position(1, seq), at=AT)
                elif rng.random() < 0.1:
                    await store.documents.forget(place.id, path, by="me", at=AT)
                    await store.documents.unforget(place.id, path, by="me", at=AT)
                else:
                    await store.documents.write(document_write(place, path, targets, text=f"t{seq}", seq=seq))
            except RetryLater as error:
                assert error.__cause__ is None, "refused by Postgres, not by a rule"
                refused += 1

    async def build() -> None:
        while not await store.generations.switch(new):
            for document in await store.generations.documents_missing(new, 4):
                await store.generations.add(new, document, reread(document), [chunk(document.text, 0)])
        while await store.generations.drop_retired():
            await store.cache.prune(3)

    async def search() -> None:
        for turn in range(30):
            await store.lexical.search(old if turn % 2 else new, ["w1", "w2", "same"], 9, Filters())

    await together(*(lambda number=number: writer(number) for number in range(6)), build, search,
                   lambda: store.repos.remove("other"))  # fmt: skip
    assert await store.repos.get("other") is None
    assert {row.state for row in await store.stats.generations()} == {"serving"}
    assert await store.generations.documents_missing(new, 9) == []
    assert await faults(postgres) == {}
    assert 0 < refused < 72


async def test_a_follower_misses_no_commit(store: Store) -> None:
    """Whoever follows changes while many commit sees the last state of every document."""
    repo, generation = await add_repo(store), await add_generation(store)
    seen: dict[str, int] = {}
    done = anyio.Event()

    async def writer(number: int) -> None:
        for turn in range(1, 16):
            await write(store, repo, generation, f"{number}-{turn % 5}.md", f"text {turn}", seq=turn)

    async def follow() -> None:
        cursor, finished = "", False
        while True:
            changes, cursor, more = await store.documents.delta(cursor, limit=3, repo=None, agent="x")
            for change in changes:
                assert change.position.seq >= seen.get(change.path, 0)
                seen[change.path] = change.position.seq
            if finished and not more:
                return
            finished = done.is_set() and not more

    async def all_writers() -> None:
        await together(*(lambda number=number: writer(number) for number in range(8)))
        done.set()

    await together(follow, all_writers)
    manifest = await store.documents.manifest(repo.id, after=None, limit=99)
    assert seen == {entry.path: entry.position.seq for entry in manifest}
    assert len(seen) == 40


async def test_old_chunks_are_dropped_by_many_while_their_documents_are_written(store: Store, postgres: str) -> None:
    repo, old = await add_repo(store), await add_generation(store, "old")
    paths = [f"{number}.md" for number in range(24)]
    rng = random.Random(3)
    held = [chunk(" ".join(rng.sample(WORDS, 60)), ordinal) for ordinal in range(3)]
    for path in paths:
        await store.documents.write(document_write(repo, path, {old: held}))
    new = await add_generation(store, "new")
    for path in paths:
        await store.documents.write(document_write(repo, path, {old: held[::-1], new: held}, seq=2))
    assert await store.generations.switch(new)

    async def drop() -> None:
        while await store.generations.drop_retired():
            pass

    async def rewrite(order: list[str]) -> None:
        for path in order:
            await store.documents.write(document_write(repo, path, {new: held}, seq=3))

    await together(drop, drop, drop, *(lambda: rewrite(rng.sample(paths, len(paths))) for _ in range(4)))
    assert [row.id for row in await store.stats.generations()] == [new]
    assert await faults(postgres) == {}


async def test_a_repo_is_removed_after_the_writers_that_are_at_it(store: Store, postgres: str) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    rival = await asyncpg.connect(postgres)

    async def until_waiting(sessions: int) -> None:
        while await rival.fetchval("SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted") < sessions:
            await anyio.lowlevel.checkpoint()

    try:
        hold = rival.transaction()
        await hold.start()
        await rival.execute("SELECT FROM generation FOR UPDATE")  # what a writer asks for last
        async with anyio.create_task_group() as group:
            group.start_soon(write, store, repo, generation, "a.md", "text")
            await until_waiting(1)
            group.start_soon(store.repos.remove, "memory")
            await until_waiting(2)
            await hold.rollback()
    finally:
        await rival.close()
    assert await store.documents.manifest(repo.id, after=None, limit=9) == []
    assert await faults(postgres) == {}
