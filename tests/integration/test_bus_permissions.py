"""The permission template in config/nats, on a real server: who asks is who the server says."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from nats.aio.msg import Msg
from pydantic import SecretStr

from recalld.bus import streams, subjects, wire
from recalld.bus.client import RecallClient
from recalld.bus.connection import Address, Connection, connect, open_connection
from recalld.bus.events import EventPublisher
from recalld.bus.jobs import JobConsumer, JobPublisher
from recalld.bus.service import Service
from recalld.bus.streams import IngestStream
from recalld.embedded.binaries import nats_server
from recalld.errors import ConfigError, RefusedError
from recalld.jobs.job import JobRequest
from recalld.settings import BusSettings
from tests.support.bus import BIG, NOW, Indexer, indexing, publish, snapshot, until_empty
from tests.support.directories import short_directory

TEMPLATE = Path(__file__).parents[2] / "config" / "nats" / "server.conf"
PASSWORDS = {"RECALLD_PASSWORD": "daemon-secret", "ALICE_PASSWORD": "alice-secret", "OPERATOR_PASSWORD": "op-secret"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class Place:
    """A server that runs with the template."""

    url: str

    def client(self, user: str, password: str, agent: str | None = None) -> RecallClient:
        return RecallClient(self.url, user=user, password=password, agent=agent or user)

    @asynccontextmanager
    async def daemon(self) -> AsyncIterator[Connection]:
        settings = BusSettings(servers=(self.url,), user="recalld", password=SecretStr(PASSWORDS["RECALLD_PASSWORD"]))
        connection = await connect(settings, name="daemon")
        try:
            await streams.ensure(connection, replicas=1)
            yield connection
        finally:
            await connection.aclose()

    @asynccontextmanager
    async def alice(self) -> AsyncIterator[Connection]:
        address = Address((self.url,), "alice", PASSWORDS["ALICE_PASSWORD"])
        connection = await open_connection(address, name="alice", inbox="_INBOX.alice")
        try:
            yield connection
        finally:
            await connection.aclose()


@pytest.fixture(scope="module")
async def place(anyio_backend: str) -> AsyncIterator[Place]:
    port = free_port()
    with short_directory() as directory:
        config = directory / "server.conf"
        config.write_text(TEMPLATE.read_text().replace("/var/lib/nats", str(directory)))
        process = subprocess.Popen(
            [nats_server(), "-c", config, "-a", "127.0.0.1", "-p", str(port)], env={**os.environ, **PASSWORDS}
        )
        try:
            started = Place(f"nats://127.0.0.1:{port}")
            async with started.daemon():
                yield started
        finally:
            process.terminate()
            process.wait()


@dataclass
class Callers:
    """A daemon that notes who asked."""

    seen: list[str]

    async def events(self, agent: str, request: wire.EventsRequest) -> wire.EventsReply:
        self.seen.append(agent)
        return wire.EventsReply(events=())


@asynccontextmanager
async def answering(connection: Connection) -> AsyncIterator[Callers]:
    callers = Callers([])
    service, stop = Service(connection, "one", "1.0.0", BusSettings()), anyio.Event()
    service.add("events", wire.EventsRequest, wire.EventsReply, callers.events)
    async with anyio.create_task_group() as group:
        await group.start(service.run, stop)
        try:
            yield callers
        finally:
            stop.set()


async def test_an_agent_asks_under_its_own_name(place: Place) -> None:
    async with place.daemon() as connection, answering(connection) as callers:
        async with place.client("alice", PASSWORDS["ALICE_PASSWORD"]) as client:
            await client.events()
        async with place.client("operator", PASSWORDS["OPERATOR_PASSWORD"]) as client:
            await client.events()
    assert callers.seen == ["alice", "operator"]


async def test_an_agent_cannot_take_another_name(place: Place) -> None:
    """It is told so at once, and the daemon never hears of it."""
    async with place.daemon() as connection, answering(connection) as callers:
        async with place.client("alice", PASSWORDS["ALICE_PASSWORD"], agent="bob") as client:
            with anyio.fail_after(2), pytest.raises(RefusedError, match=r"recall\.v1\.bob\.events") as raised:
                await client.events()
        assert "agent name" in raised.value.suggestion
        assert callers.seen == []


@pytest.mark.parametrize(
    "subject",
    [
        "recall.v1.bob.events",
        "recall.v1.recalld.observe",
        subjects.ingest("memory", "a.md"),
        subjects.scan("one"),
        "recall.event.indexed",
        "$JS.API.STREAM.PURGE.RECALL_INGEST",
        "$JS.API.STREAM.INFO.RECALL_INGEST",
        "$JS.ACK.RECALL_INGEST.indexer.1.1.1.1.0",
        "_INBOX.bob.x",
        "$SRV.PING",
    ],
)
async def test_what_an_agent_may_not_publish(place: Place, subject: str) -> None:
    async with place.alice() as connection:
        with anyio.fail_after(2), pytest.raises(RefusedError):
            await connection.request(subject, b"{}", timeout=5)
        assert connection.is_up


@pytest.mark.parametrize(
    "subject", [">", "recall.>", "recall.v1.*.search", "_INBOX.>", "_INBOX.bob.>", "_INBOX.recalld.>", "$SRV.>"]
)
async def test_what_an_agent_may_not_hear(place: Place, subject: str) -> None:
    async def never(message: Msg) -> None:
        raise AssertionError(message.subject)

    async with place.alice() as connection:
        with anyio.fail_after(2), pytest.raises(RefusedError, match="subscribe"):
            await connection.subscribe(subject, never)


async def test_events_are_for_operators(place: Place) -> None:
    async with place.daemon() as connection:
        publisher = EventPublisher(connection, "one", lambda: NOW)
        async with place.client("alice", PASSWORDS["ALICE_PASSWORD"]) as client:
            with anyio.fail_after(2), pytest.raises(RefusedError):
                async with client.follow():
                    raise AssertionError
        async with place.client("operator", PASSWORDS["OPERATOR_PASSWORD"]) as client, client.follow() as events:
            await publisher.announce("indexed", {"path": "a.md"})
            with anyio.fail_after(5):
                event = await anext(events)
        assert event.data == {"path": "a.md"}


async def test_who_serves_is_for_operators(place: Place) -> None:
    async with place.daemon() as connection, answering(connection):
        async with place.client("operator", PASSWORDS["OPERATOR_PASSWORD"]) as client:
            assert [view.node for view in await client.services()] == ["one"]
        async with place.client("alice", PASSWORDS["ALICE_PASSWORD"]) as client:
            with anyio.fail_after(2), pytest.raises(RefusedError, match=r"\$SRV"):
                await client.services()


async def test_an_agents_reply_subject_is_no_way_to_the_streams(place: Place) -> None:
    """The daemon may publish there, so it must not be made to by the reply subject of a request."""
    async with place.daemon() as connection, answering(connection) as callers, place.alice() as alice:
        await publish(connection, snapshot("a.md"))
        for reply in ("$JS.API.STREAM.PURGE.RECALL_INGEST", subjects.ingest("memory", "a.md")):
            await alice.publish("recall.v1.alice.events", b"{}", reply=reply)
        await alice.request("recall.v1.alice.events", b"{}", timeout=5)
        state = await IngestStream(connection).state()
        assert (state.last_seq, state.pending) == (1, 1)
        assert callers.seen == ["alice"]
        await connection.jetstream.purge_stream(subjects.INGEST_STREAM)


async def test_the_daemons_user_may_all_that_a_daemon_does(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    indexer = Indexer()
    ran = anyio.Event()

    async def job(request: JobRequest) -> float | None:
        ran.set()
        return None

    async with place.daemon() as connection, indexing(connection, indexer):
        await publish(connection, snapshot("small.md"), snapshot("big.md", BIG))
        await until_empty(connection)
        events = EventPublisher(connection, "one", lambda: NOW)
        await events.announce("job.started", {})
        jobs, stop = JobConsumer(connection), anyio.Event()
        async with anyio.create_task_group() as group:
            await group.start(jobs.run, job, stop)
            await JobPublisher(connection).publish("retention", "now")
            with anyio.fail_after(5):
                await ran.wait()
            stop.set()
    assert {seen.path for seen in indexer.seen} == {"small.md", "big.md"}
    assert "ermission" not in caplog.text


async def test_a_wrong_password_is_refused(place: Place) -> None:
    with anyio.fail_after(5), pytest.raises(ConfigError, match="refuses the user or password"):
        async with place.client("alice", "guessed"):
            raise AssertionError
