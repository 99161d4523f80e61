"""The ingest queue against a real server: what goes in comes out once, newest first, and is settled."""

from __future__ import annotations

import dataclasses
from functools import partial
from statistics import median

import anyio
import pytest

from recalld.bus import streams, subjects
from recalld.bus.connection import Connection
from recalld.bus.ingest import INLINE_BYTES, IngestConsumer, IngestPublisher
from recalld.bus.streams import IngestStream
from recalld.errors import UsageError
from recalld.model import Operation, Snapshot
from recalld.settings import IngestSettings
from tests.support.bus import BIG, Indexer, connected, indexing, publish, snapshot, until_empty


async def stored_objects(connection: Connection) -> int:
    """How many chunks of content there are."""
    info = await streams.ask_api(
        connection, "STREAM.INFO.OBJ_recall-content", {"subjects_filter": "$O.recall-content.C.>"}
    )
    return sum((info["state"].get("subjects") or {}).values())


async def test_a_snapshot_arrives_as_it_was_published(nats: str) -> None:
    indexer = Indexer()
    sent = snapshot("notes/é: \n☃ 🦓 =?utf-8?q?x?=.md", "text of a file\n")
    async with connected(nats) as connection, indexing(connection, indexer):
        position = await IngestPublisher(connection).publish(sent)
        await indexer.until(lambda: bool(indexer.seen))
        await until_empty(connection)
        state = await IngestStream(connection).state()
    assert indexer.seen == [sent]
    assert indexer.positions[sent.path] == position
    assert (position.epoch, position.seq) == (state.epoch, 1)


async def test_deletes_and_skips_and_empty_files_arrive_too(nats: str) -> None:
    indexer = Indexer()
    gone = dataclasses.replace(
        snapshot("gone.md"), operation=Operation.DELETE, content=None, content_hash="", stat=None
    )
    skipped = dataclasses.replace(snapshot("big.bin"), skip="too_large", content=None)
    empty = snapshot("empty.md", b"")
    async with connected(nats) as connection, indexing(connection, indexer):
        await publish(connection, gone, skipped, empty)
        await until_empty(connection)
    by_path = {seen.path: seen for seen in indexer.seen}
    assert by_path["gone.md"] == gone
    assert by_path["big.bin"].skip == "too_large"
    assert by_path["empty.md"] == empty


async def test_a_single_message_is_handed_over_in_milliseconds(nats: str) -> None:
    """nats-py's fetch of a batch would wait for the rest of it until its time is over."""
    indexer = Indexer()
    took = []
    async with connected(nats) as connection, indexing(connection, indexer):
        publisher = IngestPublisher(connection)
        for number in range(25):
            path = f"{number}.md"
            begun = anyio.current_time()
            await publisher.publish(snapshot(path))
            await indexer.until(partial(lambda path: indexer.times(path) == 1, path))
            took.append(anyio.current_time() - begun)
    assert median(took) < 0.05, took


async def test_a_load_comes_in_full_batches(nats: str) -> None:
    indexer = Indexer()
    async with connected(nats) as connection:
        await publish(connection, *[snapshot(f"{number}.md") for number in range(100)])
        async with indexing(connection, indexer, IngestSettings(batch=32)):
            await until_empty(connection)
    assert sorted(seen.path for seen in indexer.seen) == sorted(f"{number}.md" for number in range(100))
    assert max(map(len, indexer.batches)) == 32
    assert len(indexer.batches) <= 8


async def test_a_batch_holds_so_many_bytes_and_no_more(nats: str, monkeypatch: pytest.MonkeyPatch) -> None:
    indexer = Indexer()
    monkeypatch.setattr("recalld.bus.ingest.BATCH_BYTES", 250_000)
    async with connected(nats) as connection:
        await publish(connection, *[snapshot(f"{number}.md", b"x" * 100_000) for number in range(10)])
        async with indexing(connection, indexer):
            await until_empty(connection)
    assert len(indexer.seen) == 10
    assert max(map(len, indexer.batches)) == 2


async def test_two_batches_are_in_work_at_once(nats: str) -> None:
    working, most = 0, 0
    both = anyio.Event()
    indexer = Indexer()

    async def index(batch: object) -> list[Exception | None]:
        nonlocal working, most
        working += 1
        most = max(most, working)
        if working == 2:
            both.set()
        await both.wait()
        working -= 1
        return [None]

    async with connected(nats) as connection:
        await publish(connection, *[snapshot(f"{number}.md") for number in range(6)])
        consumer, stop = IngestConsumer(connection, IngestSettings(batch=1)), anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(consumer.run, index, indexer.give_up, stop)
            await until_empty(connection)
            stop.set()
    assert most == 2


async def test_ten_quick_saves_are_one_indexing_of_the_last(nats: str) -> None:
    indexer = Indexer()
    async with connected(nats) as connection:
        await publish(connection, *[snapshot("a.md", f"version {number}") for number in range(10)])
        async with indexing(connection, indexer):
            await until_empty(connection)
    assert [seen.content for seen in indexer.seen] == [b"version 9"]


async def test_an_edit_that_is_taken_back_is_not_lost(nats: str) -> None:
    """A content hash as message id would drop the third of these as a duplicate, and B would stay."""
    indexer = Indexer()
    async with connected(nats) as connection, indexing(connection, indexer):
        for content in ("A", "B", "A"):
            await publish(connection, snapshot("a.md", content))
            await until_empty(connection)
    assert [seen.content for seen in indexer.seen] == [b"A", b"B", b"A"]


async def test_what_is_saved_while_its_older_state_is_in_work_follows_it(nats: str) -> None:
    """The older message is gone from the stream then; its ack must not take the newer one along."""
    indexer = Indexer()
    go_on = anyio.Event()

    async def index(batch: list[tuple[Snapshot, object]]) -> list[Exception | None]:
        indexer.batches.append([each for each, _ in batch])
        indexer.notify()
        if batch[0][0].content == b"old":
            await go_on.wait()
        return [None] * len(batch)

    async with connected(nats) as connection:
        consumer, stop = IngestConsumer(connection, IngestSettings()), anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(consumer.run, index, indexer.give_up, stop)
            await publish(connection, snapshot("a.md", "old"))
            await indexer.until(lambda: len(indexer.seen) == 1)
            await publish(connection, snapshot("a.md", "new"))
            go_on.set()
            await until_empty(connection)
            stop.set()
    assert [seen.content for seen in indexer.seen] == [b"old", b"new"]


async def test_big_content_goes_through_the_object_store_and_is_deleted_after(nats: str) -> None:
    indexer = Indexer()
    async with connected(nats) as connection:
        await publish(connection, *[snapshot(f"{number}.md", BIG + bytes([number])) for number in range(6)])
        assert await stored_objects(connection) == 6 * 5
        async with indexing(connection, indexer):
            await until_empty(connection)
        assert await stored_objects(connection) == 0
    assert {seen.path: seen.content for seen in indexer.seen} == {
        f"{number}.md": BIG + bytes([number]) for number in range(6)
    }


async def test_content_at_the_edge_of_inline(nats: str) -> None:
    indexer = Indexer()
    async with connected(nats) as connection:
        await publish(connection, snapshot("just.md", b"x" * INLINE_BYTES))
        assert await stored_objects(connection) == 0
        await publish(connection, snapshot("over.md", b"x" * (INLINE_BYTES + 1)))
        assert await stored_objects(connection) > 0
        async with indexing(connection, indexer):
            await until_empty(connection)
    assert {seen.path: len(seen.content or b"") for seen in indexer.seen} == {
        "just.md": INLINE_BYTES,
        "over.md": INLINE_BYTES + 1,
    }


async def test_long_work_is_not_given_to_another(nats: str) -> None:
    """Work takes three times as long as the server waits for a sign of life, and the signs are given."""
    indexer = Indexer()
    settings = IngestSettings(ack_wait_s=1)

    async def index(batch: list[tuple[Snapshot, object]]) -> list[Exception | None]:
        indexer.batches.append([each for each, _ in batch])
        await anyio.sleep(3)  # what is tested is time
        return [None] * len(batch)

    async with connected(nats) as one, connected(nats) as two:
        await publish(one, snapshot("long.md"))
        stop = anyio.Event()
        async with anyio.create_task_group() as group:
            for connection in (one, two):
                consumer = IngestConsumer(connection, settings)
                group.start_soon(consumer.run, index, indexer.give_up, stop)
            await until_empty(one)
            stop.set()
    assert indexer.times("long.md") == 1


async def test_a_stop_finishes_what_is_in_work_and_gives_back_the_rest(nats: str) -> None:
    first, second = Indexer(), Indexer()
    begun, go_on = anyio.Event(), anyio.Event()

    async def index(batch: list[tuple[Snapshot, object]]) -> list[Exception | None]:
        first.batches.append([each for each, _ in batch])
        begun.set()
        await go_on.wait()
        return [None] * len(batch)

    async with connected(nats) as one, connected(nats) as two:
        await publish(one, *[snapshot(f"{number}.md") for number in range(12)])
        consumer, stop = IngestConsumer(one, IngestSettings(batch=4)), anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(consumer.run, index, first.give_up, stop)
            await begun.wait()
            stop.set()
            await anyio.wait_all_tasks_blocked()
            go_on.set()
        done = len(first.seen)
        assert 1 <= done <= 8
        assert (await IngestStream(two).state()).pending == 12 - done
        async with indexing(two, second):
            await until_empty(two, timeout=5)
    assert sorted(seen.path for seen in (*first.seen, *second.seen)) == sorted(f"{n}.md" for n in range(12))


async def test_work_that_is_cancelled_is_given_back_at_once(nats: str) -> None:
    second = Indexer()
    begun = anyio.Event()

    async def index(batch: object) -> list[Exception | None]:
        begun.set()
        await anyio.sleep_forever()
        raise AssertionError

    async with connected(nats) as one, connected(nats) as two:
        await publish(one, snapshot("a.md"))
        consumer = IngestConsumer(one, IngestSettings())
        async with anyio.create_task_group() as group:
            group.start_soon(consumer.run, index, second.give_up, anyio.Event())
            await begun.wait()
            group.cancel_scope.cancel()
        assert consumer.held == 0
        async with indexing(two, second):
            await until_empty(two, timeout=5)
    assert second.times("a.md") == 1


async def test_two_indexers_share_the_queue(nats: str) -> None:
    first, second = Indexer(), Indexer()
    async with connected(nats) as one, connected(nats) as two, indexing(one, first), indexing(two, second):
        async with anyio.create_task_group() as group:
            for start in range(0, 300, 20):
                group.start_soon(partial(publish, one, *[snapshot(f"{n}.md") for n in range(start, start + 20)]))
        await until_empty(one)
    assert sorted(s.path for s in (*first.seen, *second.seen)) == sorted(f"{n}.md" for n in range(300))
    assert first.seen
    assert second.seen


async def test_how_far_the_queue_is_worked_off(nats: str) -> None:
    async with connected(nats) as connection:
        stream = IngestStream(connection)
        assert await stream.pending() == 0
        assert await stream.indexed_past(0)
        assert not await stream.indexed_past(1)
        await publish(connection, *[snapshot(f"{number}.md") for number in range(3)])
        assert await stream.pending() == 3
        assert not await stream.indexed_past(1)
        await connection.jetstream.delete_msg(subjects.INGEST_STREAM, 2)
        assert not await stream.indexed_past(2)
        assert await stream.indexed_past(0)
        await connection.jetstream.delete_msg(subjects.INGEST_STREAM, 1)
        assert await stream.indexed_past(2)
        assert not await stream.indexed_past(3)
        await connection.jetstream.delete_msg(subjects.INGEST_STREAM, 3)
        assert await stream.indexed_past(3)
        assert not await stream.indexed_past(4)


async def test_a_name_that_is_not_utf8_can_never_be_published(nats: str) -> None:
    async with connected(nats) as connection:
        with pytest.raises(UsageError, match="UTF-8"):
            await publish(connection, snapshot("bad\udcff.md"))
