"""The ingest queue against a real server: what goes in comes out once, newest first, and is settled."""

from __future__ import annotations

import anyio

from recalld.bus.ingest import IngestPublisher
from tests.support.bus import Indexer, connected, indexing, snapshot, until_empty


async def test_a_snapshot_arrives_as_it_was_published(nats: str) -> None:
    indexer = Indexer()
    sent = snapshot("notes/é: \n☃.md", "text of a file\n")
    async with connected(nats) as connection, indexing(connection, indexer):
        position = await IngestPublisher(connection).publish(sent)
        await indexer.until(lambda: bool(indexer.seen))
        await until_empty(connection)
    assert indexer.seen == [sent]
    assert indexer.positions[sent.path] == position


async def test_a_single_message_is_handed_over_in_milliseconds(nats: str) -> None:
    indexer = Indexer()
    async with connected(nats) as connection, indexing(connection, indexer):
        publisher = IngestPublisher(connection)
        await publisher.publish(snapshot("warm.md"))
        await indexer.until(lambda: indexer.times("warm.md") == 1)
        took = []
        for number in range(20):
            path = f"{number}.md"
            begun = anyio.current_time()
            await publisher.publish(snapshot(path))
            await indexer.until(lambda path=path: indexer.times(path) == 1)  # type: ignore[misc]
            took.append(anyio.current_time() - begun)
    assert sorted(took)[10] < 0.03, took
