"""Events on a real server."""

from __future__ import annotations

import anyio
import pytest

from recalld.bus import events as module
from recalld.bus import subjects, wire
from recalld.bus.connection import Connection
from recalld.bus.events import EventHistory, EventPublisher, follow
from recalld.errors import UsageError
from recalld.model import Severity
from tests.support.bus import NOW, connected
from tests.support.waiting import until


async def tell(connection: Connection, *topics: str) -> None:
    publisher = EventPublisher(connection, "one", lambda: NOW)
    for number, topic in enumerate(topics):
        await publisher.announce(topic, {"number": number})
    await connection.flush()


async def until_kept(connection: Connection, count: int) -> None:
    """Wait until the stream has so many messages: it takes what is published a moment after the server does."""

    async def is_kept() -> bool:
        info = await connection.jetstream.stream_info(subjects.EVENT_STREAM)
        return bool(info.state.messages >= count)

    await until(is_kept)


async def test_a_follower_hears_its_topic_and_those_below(nats: str) -> None:
    async with connected(nats) as connection, follow(connection, "scan") as events:
        await tell(connection, "indexed", "scan", "scanner", "scan.started", "scan.a.b", "deleted")
        with anyio.fail_after(5):
            heard = [await anext(events) for _ in range(3)]
    assert [event.topic for event in heard] == ["scan", "scan.started", "scan.a.b"]
    assert heard[0] == wire.Event(topic="scan", at=NOW, node="one", data={"number": 1})


async def test_a_follower_of_all(nats: str) -> None:
    async with connected(nats) as connection, follow(connection) as events:
        await tell(connection, "indexed", "scan.started")
        with anyio.fail_after(5):
            assert [(await anext(events)).topic for _ in range(2)] == ["indexed", "scan.started"]


async def test_a_follower_too_far_behind_loses_some_and_not_the_connection(
    nats: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "KEPT_BEHIND", 5)
    async with connected(nats) as connection, connected(nats) as other, follow(connection) as events:
        await tell(other, *["indexed"] * 20)
        await connection.flush()
        with anyio.fail_after(5):
            heard = [(await anext(events)).data["number"] for _ in range(5)]
        await tell(other, "last")
        with anyio.fail_after(5):
            assert (await anext(events)).topic == "last"
    assert heard == [0, 1, 2, 3, 4]
    assert "too far behind" in caplog.text


@pytest.mark.parametrize("topic", ["", "a..b", "*", ">", "a.>", "a b", "é"])
async def test_what_is_no_topic(nats: str, topic: str) -> None:
    async with connected(nats) as connection:
        with pytest.raises(UsageError, match="topic"):
            async with follow(connection, topic):
                raise AssertionError
        with pytest.raises(UsageError, match="topic"):
            await EventHistory(connection)(None, 1, topic)


async def test_the_history_by_count_by_seq_and_by_topic(nats: str) -> None:
    async with connected(nats) as connection:
        history = EventHistory(connection)
        assert list(await history(None, 10, None)) == []
        assert list(await history(0, 10, None)) == []
        topics = ["indexed", "deleted", "indexed", "scan.started", "indexed", "scan.done"]
        await tell(connection, *topics)
        assert [event.topic for event in await history(None, 3, None)] == ["scan.started", "indexed", "scan.done"]
        assert [event.seq for event in await history(None, 10, None)] == [1, 2, 3, 4, 5, 6]
        assert [event.seq for event in await history(2, 2, None)] == [3, 4]
        assert [event.seq for event in await history(6, 2, None)] == []
        assert [event.seq for event in await history(99, 2, None)] == []
        assert [event.seq for event in await history(None, 2, "indexed")] == [3, 5]
        assert [event.seq for event in await history(1, 1, "indexed")] == [3]
        assert [event.topic for event in await history(None, 5, "scan")] == ["scan.started", "scan.done"]
        assert list(await history(None, 5, "unheard-of")) == []
        info = await connection.jetstream.stream_info(subjects.EVENT_STREAM)
        assert info.state.consumer_count == 0


async def test_a_rare_topic_far_back_is_found(nats: str) -> None:
    async with connected(nats) as connection:
        await tell(connection, "rare", *["indexed"] * 500, "rare", *["indexed"] * 500)
        await until_kept(connection, 1_002)
        found = await EventHistory(connection)(None, 2, "rare")
        assert [event.seq for event in found] == [1, 502]
        assert len(await EventHistory(connection)(None, 1_000, None)) == 1_000


async def test_what_is_no_event_is_left_out(nats: str) -> None:
    async with connected(nats) as connection:
        await connection.publish("recall.event.indexed", b"\xff not json")
        await tell(connection, "indexed")
        await until_kept(connection, 2)
        assert [event.seq for event in await EventHistory(connection)(None, 10, None)] == [2]


async def test_facts_of_any_kind_can_be_told(nats: str) -> None:
    async with connected(nats) as connection:
        publisher = EventPublisher(connection, "one", lambda: NOW)
        await publisher.announce("a", {"severity": Severity.ERROR, "at": NOW, "odd": object, "path": "é"})
        await publisher.announce("b c", {"path": "no subject"})
        await publisher.announce("large", {"text": "x" * (2 << 20)})
        await publisher.announce("c", {})
        await connection.flush()
        told = await EventHistory(connection)(None, 10, None)
    assert [event.topic for event in told] == ["a", "c"]
    assert told[0].data["severity"] == "error"
    assert told[0].data["path"] == "é"
