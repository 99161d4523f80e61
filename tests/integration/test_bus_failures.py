"""Failures of indexing against a real server: what cannot be indexed is tried again, then set aside."""

from __future__ import annotations

import json
from functools import partial

import anyio
import pytest
from nats.js.errors import NotFoundError as NoMessage

from recalld.bus import deliveries, subjects
from recalld.bus.connection import Connection
from recalld.bus.content import ContentMissingError
from recalld.bus.ingest import IngestPublisher, consumer_config
from recalld.bus.streams import IngestStream
from recalld.errors import DependencyError, Rejected, RetryLater
from recalld.model import Snapshot
from recalld.settings import IngestSettings
from tests.support.bus import BIG, Indexer, connected, indexing, publish, snapshot, until_empty


async def dead_letter(connection: Connection, path: str) -> tuple[dict[str, str], bytes]:
    message = await connection.jetstream.get_last_msg(subjects.DEAD_STREAM, subjects.dead("memory", path))
    return message.headers or {}, message.data or b""


async def test_content_that_is_gone_is_tried_again_then_set_aside_as_unknown(
    nats: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file is recorded without hash and stat, so that the next scan finds it different and sends it again."""
    monkeypatch.setattr("recalld.bus.outcomes.FIRST_DELAY_S", 0.001)
    indexer = Indexer()
    async with connected(nats) as connection:
        await publish(connection, snapshot("big.md", BIG), snapshot("small.md"))
        await connection.jetstream.purge_stream("OBJ_recall-content")
        async with indexing(connection, indexer, IngestSettings(max_deliver=5)):
            await indexer.until(lambda: bool(indexer.given_up))
            await until_empty(connection)
        headers, _ = await dead_letter(connection, "big.md")
    assert [seen.path for seen in indexer.seen] == ["small.md"]
    ((lost, _, error),) = indexer.given_up
    assert isinstance(error, ContentMissingError)
    assert (lost.path, lost.content_hash, lost.stat) == ("big.md", "", None)
    assert headers["Recall-Attempts"] == "5"


async def test_content_without_a_chunk_is_missing_not_waited_for(nats: str) -> None:
    async with connected(nats) as connection:
        content = IngestPublisher(connection)._content
        name = await content.put(BIG)
        assert await content.get(name) == BIG
        await connection.jetstream.delete_msg("OBJ_recall-content", 2)
        with anyio.fail_after(5), pytest.raises(ContentMissingError):
            await content.get(name)
        with pytest.raises(ContentMissingError):
            await content.get("never-was")
        await content.delete("never-was")


async def test_a_failure_is_tried_again_and_holds_up_nothing(nats: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recalld.bus.outcomes.FIRST_DELAY_S", 0.01)
    indexer = Indexer(lambda seen, times: ValueError("bad") if seen.path == "bad.md" and times < 3 else None)
    async with connected(nats) as connection:
        await publish(connection, snapshot("bad.md"), *[snapshot(f"{number}.md") for number in range(20)])
        async with indexing(connection, indexer):
            await until_empty(connection)
    assert indexer.times("bad.md") == 3
    assert all(indexer.times(f"{number}.md") == 1 for number in range(20))
    assert not indexer.given_up


async def test_a_file_that_never_works_is_set_aside_with_its_reason(nats: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recalld.bus.outcomes.FIRST_DELAY_S", 0.001)
    indexer = Indexer(lambda seen, times: ValueError("always\nbad") if seen.path == "bad.md" else None)
    async with connected(nats) as connection:
        await publish(connection, snapshot("bad.md", "poison"))
        async with indexing(connection, indexer, IngestSettings(max_deliver=5)):
            await until_empty(connection)
            await publish(connection, snapshot("bad.md", "poison again"))
            await until_empty(connection)
        headers, data = await dead_letter(connection, "bad.md")
        assert (await IngestStream(connection).state()).pending == 0
    assert indexer.times("bad.md") == 10
    assert [str(error) for _, _, error in indexer.given_up] == ["always\nbad"] * 2
    assert data == b"poison again"
    assert headers["Recall-Reason"] == "ValueError: always bad"
    assert headers["Recall-Attempts"] == "5"
    assert json.loads(headers["Recall-Ingest"])["path"] == "bad.md"


async def test_the_whole_batch_failing_is_every_files_failure(nats: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the third try on files are worked on alone, so the one that fails its batch is found."""
    monkeypatch.setattr("recalld.bus.outcomes.FIRST_DELAY_S", 0.001)
    indexer = Indexer()

    def fail(seen: Snapshot, times: int) -> Exception | None:
        if any(each.path == "bad.md" for each in indexer.batches[-1]):
            raise ValueError("bad batch")
        return None

    indexer.act = fail
    async with connected(nats) as connection:
        await publish(connection, *[snapshot(f"{number}.md") for number in range(5)], snapshot("bad.md"))
        async with indexing(connection, indexer):
            await until_empty(connection)
    assert [given.path for given, _, _ in indexer.given_up] == ["bad.md"]


async def test_what_can_never_be_worked_on_is_set_aside_at_once(nats: str) -> None:
    indexer = Indexer(lambda seen, times: Rejected("outside the repo") if seen.path == "bad.md" else None)
    async with connected(nats) as connection:
        await publish(connection, snapshot("bad.md"))
        async with indexing(connection, indexer):
            await until_empty(connection)
        headers, _ = await dead_letter(connection, "bad.md")
    assert indexer.times("bad.md") == 1
    assert headers["Recall-Code"] == "rejected"


@pytest.mark.parametrize(
    ("header", "subject", "data", "reason"),
    [
        (None, "recall.ingest.memory.x", b"", "no Recall-Ingest header"),
        ("{", "recall.ingest.memory.x", b"", "not valid"),
        ('{"version": 2}', "recall.ingest.memory.x", b"", "not valid"),
        (deliveries.encode(snapshot("a.md"), None), "recall.ingest.memory.x", b"text", "subject of another file"),
        (deliveries.encode(snapshot("../a.md"), None), subjects.ingest("memory", "../a.md"), b"text", "outside"),
        (deliveries.encode(snapshot("a.md"), None), subjects.ingest("memory", "a.md"), b"tex", "3 bytes"),
    ],
)
async def test_a_message_that_cannot_be_read_goes_to_the_dead_letters(
    nats: str, header: str | None, subject: str, data: bytes, reason: str
) -> None:
    indexer = Indexer()
    async with connected(nats) as connection:
        headers = {"Recall-Ingest": header} if header is not None else None
        await connection.jetstream.publish(subject, data, headers=headers)
        await publish(connection, snapshot("good.md"))
        async with indexing(connection, indexer):
            await until_empty(connection)
        dead = await connection.jetstream.get_last_msg(
            subjects.DEAD_STREAM, subject.replace("recall.ingest", "recall.dead")
        )
    assert [seen.path for seen in indexer.seen] == ["good.md"]
    assert reason in (dead.headers or {})["Recall-Reason"]


async def test_a_file_that_ended_every_worker_is_set_aside_unseen(nats: str) -> None:
    """A message that was delivered as often as allowed stays in a work queue for good, if the server counts."""
    indexer = Indexer()
    settings = IngestSettings(max_deliver=5)
    async with connected(nats) as connection:
        await publish(connection, snapshot("killer.md"))
        await connection.jetstream.add_consumer(subjects.INGEST_STREAM, consumer_config(settings))
        raw = await connection.jetstream.pull_subscribe_bind(
            consumer=subjects.INGEST_CONSUMER, stream=subjects.INGEST_STREAM
        )
        for _ in range(5):
            (message,) = await raw.fetch(1, timeout=5)
            await message.nak()  # as the server itself does when ack_wait is over
        await raw.unsubscribe()
        async with indexing(connection, indexer, settings):
            await until_empty(connection)
        headers, _ = await dead_letter(connection, "killer.md")
    assert not indexer.seen
    assert [given.path for given, _, _ in indexer.given_up] == ["killer.md"]
    assert "each of 5 workers ended" in headers["Recall-Reason"]


async def test_an_outage_costs_no_file_its_tries(nats: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recalld.bus.ingest.FIRST_PAUSE_S", 0.005)
    monkeypatch.setattr("recalld.bus.ingest.LONGEST_PAUSE_S", 0.01)
    down = True
    indexer = Indexer(lambda seen, times: DependencyError("Postgres is away") if down else None)
    async with connected(nats) as connection:
        await publish(connection, *[snapshot(f"{number}.md") for number in range(10)])
        async with indexing(connection, indexer, IngestSettings(max_deliver=5)):
            await indexer.until(lambda: min(indexer.times(f"{number}.md") for number in range(10)) > 8)
            down = False
            await until_empty(connection)
        info = await connection.jetstream.consumer_info(subjects.INGEST_STREAM, subjects.INGEST_CONSUMER)
    assert not indexer.given_up
    assert info.delivered is not None
    assert info.delivered.consumer_seq == 10


async def test_a_file_for_which_alone_nothing_works_has_its_tries(nats: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recalld.bus.ingest.FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr("recalld.bus.ingest.LONGEST_PAUSE_S", 0.002)
    indexer = Indexer(lambda seen, times: DependencyError("no answer") if seen.path == "bad.md" else None)
    async with connected(nats) as connection:
        await publish(connection, snapshot("bad.md"))
        async with indexing(connection, indexer, IngestSettings(max_deliver=5)):
            number = 0
            while not indexer.given_up:
                number += 1
                await publish(connection, snapshot(f"{number}.md"))
                await indexer.until(partial(lambda path: indexer.times(path) > 0, f"{number}.md"))
            await until_empty(connection)
    assert [given.path for given, _, _ in indexer.given_up] == ["bad.md"]


async def test_a_failure_that_cannot_be_recorded_yet_is_recorded_later(
    nats: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recalld.bus.ingest.LONGEST_PAUSE_S", 0.01)
    indexer = Indexer(lambda seen, times: Rejected("bad"))
    tried: list[str] = []

    async def give_up(given: Snapshot, position: object, error: BaseException) -> None:
        tried.append(given.path)
        if len(tried) < 3:
            raise DependencyError("Postgres is away")

    indexer.give_up = give_up  # type: ignore[method-assign,assignment]
    async with connected(nats) as connection:
        await publish(connection, snapshot("bad.md"))
        async with indexing(connection, indexer):
            await until_empty(connection)
        await dead_letter(connection, "bad.md")
    assert tried == ["bad.md"] * 3
    assert indexer.times("bad.md") == 1


async def test_a_delay_is_the_workers_and_the_wait_for_a_dead_worker_is_the_settings(nats: str) -> None:
    """``backoff`` in the consumer's configuration would replace ``ack_wait`` with its first value."""
    indexer = Indexer(lambda seen, times: RetryLater("again", after=0.2) if times < 2 else None)
    async with connected(nats) as connection:
        async with indexing(connection, indexer, IngestSettings(ack_wait_s=30)):
            await publish(connection, snapshot("a.md"))
            await indexer.until(lambda: indexer.times("a.md") == 1)
            begun = anyio.current_time()
            await indexer.until(lambda: indexer.times("a.md") == 2)
            assert 0.15 < anyio.current_time() - begun < 5
            await until_empty(connection)
        info = await connection.jetstream.consumer_info(subjects.INGEST_STREAM, subjects.INGEST_CONSUMER)
    assert info.config.ack_wait == 30
    assert not info.config.backoff


async def test_the_dead_letters_keep_one_copy_a_file(nats: str) -> None:
    async with connected(nats) as connection:
        with pytest.raises(NoMessage):
            await dead_letter(connection, "none.md")
        info = await connection.jetstream.stream_info(subjects.DEAD_STREAM)
        assert info.config.max_msgs_per_subject == 1
        assert (info.config.max_age or 0) > 0
        assert (info.config.max_bytes or 0) > 0
