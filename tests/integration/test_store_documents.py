"""Documents in Postgres: order, tombstones, unchanged chunks, concurrent writers, the stream of changes."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import asyncpg
import pytest

from recalld.errors import RetryLater, UsageError
from recalld.model import DocumentState, Filters, Position
from recalld.store import Outcome, Store
from tests.support.stored import AT, add_generation, add_repo, sha, snapshot, write


@pytest.fixture
async def store(postgres: str) -> AsyncIterator[Store]:
    opened = await Store.open(postgres, pool_size=8)
    yield opened
    await opened.aclose()


async def chunk_ids(store: Store, path: str) -> list[int]:
    document = await store.documents.get("memory", path)
    return [passage.id for passage in document.chunks] if document else []


async def test_a_lower_position_changes_nothing(store: Store) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    assert await write(store, repo, generation, "a.md", "new text", seq=5) is Outcome.WRITTEN
    assert await write(store, repo, generation, "a.md", "old text", seq=4) is Outcome.STALE
    assert await store.documents.delete(repo.id, "a.md", Position(1, 3), at=AT) is Outcome.STALE
    document = await store.documents.get("memory", "a.md")
    assert document is not None
    assert document.text == "new text"


async def test_a_deletion_is_not_undone_by_a_replay(store: Store) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    await write(store, repo, generation, "a.md", "text", seq=1)
    await store.documents.delete(repo.id, "a.md", Position(1, 2), at=AT)
    assert await write(store, repo, generation, "a.md", "text", seq=1) is Outcome.STALE
    assert await store.documents.get("memory", "a.md") is None
    assert (await store.documents.manifest(repo.id, after=None, limit=9))[0].state is DocumentState.DELETED
    assert await store.lexical.search(generation, ["text"], 5, Filters()) == []


async def test_a_bus_that_starts_again_at_one_is_still_later(store: Store) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    await write(store, repo, generation, "a.md", "before", seq=900, epoch=1)
    assert await write(store, repo, generation, "a.md", "after", seq=1, epoch=2) is Outcome.WRITTEN


async def test_unchanged_chunks_keep_their_rows(store: Store) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    await write(store, repo, generation, "a.md", "one", "two", "three", seq=1)
    before = await chunk_ids(store, "a.md")
    await write(store, repo, generation, "a.md", "zero", "one", "three", seq=2, unchanged=("one", "three"))
    after = await chunk_ids(store, "a.md")
    assert after[1:] == [before[0], before[2]]
    document = await store.documents.get("memory", "a.md")
    assert document is not None
    assert [passage.lines for passage in document.chunks] == [(1, 1), (2, 2), (3, 3)]
    assert await store.lexical.search(generation, ["two"], 5, Filters()) == []


async def test_a_passage_that_now_stands_twice_is_found_twice(store: Store) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    await write(store, repo, generation, "a.md", "one", "two", seq=1)
    await write(store, repo, generation, "a.md", "one", "one", seq=2, unchanged=("one",))
    assert len(await store.lexical.search(generation, ["one"], 5, Filters())) == 2


async def test_a_chunk_wrongly_taken_for_unchanged_is_tried_again(store: Store) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    with pytest.raises(RetryLater):
        await write(store, repo, generation, "a.md", "one", unchanged=("one",))
    assert await store.documents.get("memory", "a.md") is None


async def test_vectors_of_a_chunk_that_went_come_back_with_its_text(store: Store) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    await write(store, repo, generation, "a.md", "one", seq=1)
    assert sha("one") in await store.cache.get("space", [sha("one")])
    assert await store.cache.count() == 0
    await write(store, repo, generation, "a.md", "two", seq=2)
    assert await store.cache.count() == 1
    assert sha("one") in await store.cache.get("space", [sha("one")])
    assert await store.cache.get("other space", [sha("one")]) == {}
    assert await store.cache.prune(0) == 1


async def test_forgotten_stays_forgotten_and_leaves_nothing(store: Store) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    await write(store, repo, generation, "a.md", "secret", seq=1)
    assert await store.documents.forget(repo.id, "a.md", by="me", at=AT) == 1
    assert await write(store, repo, generation, "a.md", "secret again", seq=2) is Outcome.FORGOTTEN
    assert await store.documents.get("memory", "a.md") is None
    assert await store.cache.get("space", [sha("secret")]) == {}
    assert await store.documents.unforget(repo.id, "a.md", by="me", at=AT)
    assert await write(store, repo, generation, "a.md", "let in", seq=3) is Outcome.WRITTEN


async def test_a_failed_state_leaves_the_last_good_text(store: Store) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    await write(store, repo, generation, "a.md", "good", seq=1)
    await store.documents.fail(repo.id, snapshot("a.md", "bad"), Position(1, 2), "broken", at=AT)
    document = await store.documents.get("memory", "a.md")
    assert document is not None
    assert document.text == "good"
    assert document.content_hash == sha("good")
    assert (await store.stats.totals()).failed == 1


async def test_writers_of_the_same_words_do_not_wait_for_each_other_in_a_ring(store: Store) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    words = [f"w{number}" for number in range(200)]

    async def writer(number: int) -> None:
        for seq in range(1, 6):
            order = words if (number + seq) % 2 else words[::-1]
            await write(store, repo, generation, f"{number % 4}.md", " ".join(order), f"v{seq}", seq=seq * 10 + number)

    async with anyio.create_task_group() as group:
        for number in range(8):
            group.start_soon(writer, number)
    assert len(await store.lexical.search(generation, ["w7"], 50, Filters())) == 4


async def test_the_stream_of_changes_waits_for_transactions_under_way(store: Store, postgres: str) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    other = await asyncpg.connect(postgres)
    try:
        open_one = other.transaction()
        await open_one.start()
        await other.execute("SELECT pg_current_xact_id()")
        await other.execute(
            "INSERT INTO document (repo_id, path, state, epoch, seq, changed_at) "
            "VALUES ($1, 'slow', 'skipped', 1, 1, now())",
            repo.id,
        )
        await write(store, repo, generation, "fast.md", "text", seq=2)
        changes, cursor, _ = await store.documents.delta("", limit=10, repo=None, agent="x")
        assert changes == []
        await open_one.commit()
        changes, cursor, more = await store.documents.delta(cursor, limit=10, repo=None, agent="x")
        assert [change.path for change in changes] == ["slow", "fast.md"]
        assert not more
        assert (await store.documents.delta(cursor, limit=10, repo=None, agent="x"))[0] == []
    finally:
        await other.close()


async def test_a_cursor_that_is_none_is_refused(store: Store) -> None:
    for cursor in ("nonsense", "1", "1-2-3", "-", f"{1 << 60}-1"):
        with pytest.raises(UsageError):
            await store.documents.delta(cursor, limit=10, repo=None, agent="x")


async def test_removing_a_repo_leaves_nothing(store: Store, postgres: str) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    await write(store, repo, generation, "a.md", "text", seq=1)
    assert await store.repos.remove("memory") == 1
    connection = await asyncpg.connect(postgres)
    try:
        for table in ("document", "chunk", "posting", "chunk_vector", "chunk_bits", "document_generation"):
            assert await connection.fetchval(f"SELECT count(*) FROM {table}") == 0, table
    finally:
        await connection.close()
