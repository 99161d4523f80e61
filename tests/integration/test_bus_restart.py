"""Servers that are killed, restarted and wiped under everything: all comes back by itself, and nothing is mixed up."""

from __future__ import annotations

import logging
from functools import partial

import anyio
import pytest
from nats.aio.msg import Msg

from recalld.bus import streams, subjects, wire
from recalld.bus.client import RecallClient
from recalld.bus.events import EventHistory, EventPublisher
from recalld.bus.ingest import IngestPublisher
from recalld.bus.jobs import JobPublisher
from recalld.bus.service import Service
from recalld.bus.streams import IngestStream
from recalld.errors import DependencyError
from recalld.settings import BusSettings
from tests.support.bus import (
    BIG,
    NOW,
    Indexer,
    States,
    connected,
    indexing,
    publish,
    server,
    snapshot,
    until_empty,
)


async def test_a_publisher_says_so_while_there_is_no_server() -> None:
    """nats-py would keep the message in a buffer, and wait."""
    states = States()
    async with server() as nats, connected(nats.url, on_state=states) as connection:
        publisher = IngestPublisher(connection)
        await nats.kill()
        await states.until("reconnecting")
        for content in (b"small", BIG):
            with anyio.fail_after(1), pytest.raises(DependencyError, match="no connection"):
                await publisher.publish(snapshot("a.md", content))
        await nats.start()
        await states.until("connected")
        assert (await publisher.publish(snapshot("a.md"))).seq == 1


async def test_what_was_acknowledged_survives_a_kill() -> None:
    states, indexer = States(), Indexer()
    async with server() as nats, connected(nats.url, on_state=states) as connection:
        await publish(connection, *[snapshot(f"{number}.md", f"text {number}") for number in range(20)])
        before = await IngestStream(connection).state()
        await nats.kill()
        await nats.start()
        await states.until("reconnecting", "connected")
        assert await IngestStream(connection).state() == before
        async with indexing(connection, indexer):
            await until_empty(connection)
    assert len(indexer.seen) == 20


async def test_a_consumer_goes_on_after_a_kill_in_the_middle_of_its_work() -> None:
    states, indexer = States(), Indexer()
    begun, go_on = anyio.Event(), anyio.Event()

    async def index(batch: list[tuple[object, object]]) -> list[Exception | None]:
        begun.set()
        await go_on.wait()
        return await Indexer.index(indexer, batch)  # type: ignore[arg-type]

    indexer.index = index  # type: ignore[method-assign,assignment]
    async with server() as nats, connected(nats.url, on_state=states) as connection:
        await publish(connection, *[snapshot(f"{number}.md") for number in range(200)])
        async with indexing(connection, indexer):
            await begun.wait()
            await nats.kill()
            await states.until("reconnecting")
            go_on.set()
            await nats.start()
            await states.until("reconnecting", "connected")
            await until_empty(connection)
            await publish(connection, snapshot("after.md"))
            await indexer.until(lambda: indexer.times("after.md") == 1)
            await until_empty(connection)
    assert len({seen.path for seen in indexer.seen}) == 201


async def test_a_restart_is_noticed_by_an_idle_consumer() -> None:
    states, indexer = States(), Indexer()
    async with server() as nats, connected(nats.url, on_state=states) as connection, indexing(connection, indexer):
        for number in range(3):
            await nats.restart()
            await states.until("reconnecting", "connected")
            await publish(connection, snapshot(f"{number}.md"))
            await indexer.until(partial(lambda path: indexer.times(path) == 1, f"{number}.md"), timeout=5)


async def test_lost_storage_is_a_new_epoch() -> None:
    """Sequences start again at 1, and what was indexed from the old stream still counts as older."""
    states, indexer = States(), Indexer()
    async with server() as nats, connected(nats.url, on_state=states) as connection, indexing(connection, indexer):
        publisher = IngestPublisher(connection)
        for number in range(5):
            old = await publisher.publish(snapshot(f"{number}.md"))
        await until_empty(connection)
        await nats.kill()
        nats.wipe()
        await nats.start()
        await states.until("reconnecting", "connected")
        new = await publisher.publish(snapshot("0.md", "newer"))
        assert new > old
        assert new.seq < old.seq
        await indexer.until(lambda: indexer.times("0.md") == 2)
        assert indexer.positions["0.md"] == new
        await until_empty(connection)


async def test_an_ack_of_a_lost_stream_settles_nothing_in_the_new_one() -> None:
    """Its subject names stream, consumer and sequence, and all three are the same again."""
    states, indexer = States(), Indexer()
    begun, go_on = anyio.Event(), anyio.Event()

    async def index(batch: list[tuple[object, object]]) -> list[Exception | None]:
        begun.set()
        if not go_on.is_set():
            await go_on.wait()
        return await Indexer.index(indexer, batch)  # type: ignore[arg-type]

    indexer.index = index  # type: ignore[method-assign,assignment]
    async with server() as nats, connected(nats.url, on_state=states) as connection:
        publisher = IngestPublisher(connection)
        await publisher.publish(snapshot("old.md"))
        async with indexing(connection, indexer):
            await begun.wait()
            await nats.kill()
            nats.wipe()
            await nats.start()
            await states.until("reconnecting", "connected")
            new = await publisher.publish(snapshot("new.md"))
            assert new.seq == 1
            go_on.set()
            await indexer.until(lambda: indexer.times("new.md") == 1)
            await until_empty(connection)
    assert {seen.path for seen in indexer.seen} == {"old.md", "new.md"}


async def test_streams_that_somebody_deleted_are_made_again_by_whoever_needs_them(nats: str) -> None:
    indexer = Indexer()
    async with connected(nats) as connection, connected(nats) as other, indexing(connection, indexer):
        publisher = IngestPublisher(other)
        old = await publisher.publish(snapshot("a.md"))
        await until_empty(connection)
        await other.jetstream.delete_stream(subjects.INGEST_STREAM)
        new = await publisher.publish(snapshot("b.md"))
        assert new > old
        await indexer.until(lambda: indexer.times("b.md") == 1)
        assert indexer.positions["b.md"] == new
        await other.jetstream.delete_stream(subjects.JOB_STREAM)
        await JobPublisher(other).publish("retention", "now")


async def test_the_service_and_its_clients_come_back() -> None:
    states = States()

    async def repos(agent: str, request: wire.RepoListRequest) -> wire.RepoListReply:
        return wire.RepoListReply(repos=())

    async with server() as nats, connected(nats.url, on_state=states) as connection:
        service, stop = Service(connection, "one", "1.0.0", BusSettings()), anyio.Event()
        service.add("repo.list", wire.RepoListRequest, wire.RepoListReply, repos)
        async with RecallClient(nats.url, agent="me", patience_s=10) as client, anyio.create_task_group() as group:
            await group.start(service.run, stop)
            await client.repo_list()
            for _ in range(2):
                await nats.restart()
                assert (await client.repo_list()).repos == ()
            await states.until("connected")
            stop.set()


async def test_a_question_whose_answer_was_lost_is_asked_again() -> None:
    asked = 0
    begun = anyio.Event()

    async def repos(agent: str, request: wire.RepoListRequest) -> wire.RepoListReply:
        nonlocal asked
        asked += 1
        begun.set()
        if asked == 1:
            await anyio.sleep_forever()
        return wire.RepoListReply(repos=())

    async def forget(agent: str, request: wire.ForgetRequest) -> wire.ForgetReply:
        begun.set()
        await anyio.sleep_forever()
        raise AssertionError

    async with server() as nats, connected(nats.url) as connection:
        service, stop = Service(connection, "one", "1.0.0", BusSettings(drain_s=0)), anyio.Event()
        service.add("repo.list", wire.RepoListRequest, wire.RepoListReply, repos)
        service.add("forget", wire.ForgetRequest, wire.ForgetReply, forget)
        async with RecallClient(nats.url, agent="me", patience_s=10) as client, anyio.create_task_group() as group:
            await group.start(service.run, stop)

            async def kill() -> None:
                await begun.wait()
                await nats.kill()
                await nats.start()

            group.start_soon(kill)
            with anyio.fail_after(10):
                assert (await client.repo_list()).repos == ()
            assert asked == 2
            begun = anyio.Event()
            group.start_soon(kill)
            with anyio.fail_after(10), pytest.raises(DependencyError, match="lost"):
                await client.forget("a.md")
            stop.set()


async def test_events_are_dropped_not_raised_while_there_is_no_server(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    states = States()
    async with server() as nats, connected(nats.url, on_state=states) as connection:
        publisher = EventPublisher(connection, "one", lambda: NOW)
        await nats.kill()
        await states.until("reconnecting")
        for _ in range(3):
            await publisher.announce("indexed", {"path": "lost.md"})
        await nats.start()
        await states.until("connected")
        await publisher.announce("indexed", {"path": "kept.md"})
        await connection.flush()
        told = await EventHistory(connection)(None, 10, None)
    assert [event.data["path"] for event in told] == ["kept.md"]
    assert caplog.text.count("events are not told") == 1
    assert "3 were dropped" in caplog.text


async def test_subscriptions_of_a_follower_come_back() -> None:
    states = States()
    async with server() as nats, connected(nats.url, on_state=states) as connection:
        publisher = EventPublisher(connection, "one", lambda: NOW)
        heard = anyio.Event()

        async def on_event(message: Msg) -> None:
            heard.set()

        await connection.subscribe("recall.event.>", on_event)
        await nats.restart()
        await states.until("reconnecting", "connected")
        await publisher.announce("indexed", {})
        with anyio.fail_after(5):
            await heard.wait()


async def test_ensure_brings_a_streams_configuration_up_to_date(nats: str) -> None:
    async with connected(nats) as connection:
        old = streams.event_config().evolve(max_age=60.0)
        await connection.jetstream.update_stream(old)
        await streams.ensure(connection)
        await streams.ensure(connection)
        info = await connection.jetstream.stream_info(subjects.EVENT_STREAM)
        assert info.config.max_age == streams.event_config().max_age
