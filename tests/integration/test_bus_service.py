"""The micro service against a real server: it answers everything, several at once, and all before it stops."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import pytest
from nats import micro as nats_micro
from nats.aio.msg import Msg
from nats.micro.service import Service as MicroService

from recalld.bus import subjects, wire
from recalld.bus.client import RecallClient
from recalld.bus.connection import Connection
from recalld.bus.service import Service
from recalld.errors import NotFoundError, UnreachableError
from recalld.model import State
from recalld.settings import BusSettings
from tests.support.bus import NOW, connected


def healthy(node: str = "one") -> wire.HealthReply:
    return wire.HealthReply(state=State.READY, node=node, version="0", roles=(), started_at=NOW, rss_bytes=0, checks=())


class Verbs:
    """Handlers that a test steers: ``health`` waits to be released, ``search`` answers with what it was given."""

    def __init__(self) -> None:
        self.begun = 0
        self.changed = anyio.Event()
        self.released = anyio.Event()
        self.seen: list[str] = []
        self.reply_size = 0
        self.failure: Exception | None = None

    async def health(self, agent: str, request: wire.HealthRequest) -> wire.HealthReply:
        self.begun += 1
        self.changed.set()
        self.changed = anyio.Event()
        await self.released.wait()
        return healthy()

    async def events(self, agent: str, request: wire.EventsRequest) -> wire.EventsReply:
        self.seen.append(agent)
        if self.failure is not None:
            raise self.failure
        data = {"text": "x" * self.reply_size, "agent": agent, "limit": request.limit}
        return wire.EventsReply(events=(wire.Event(topic="t", at=NOW, node="one", data=data),))

    async def until_begun(self, count: int) -> None:
        with anyio.fail_after(10):
            while self.begun < count:
                await self.changed.wait()


@asynccontextmanager
async def serving(
    connection: Connection, verbs: Verbs, settings: BusSettings | None = None, node: str = "one"
) -> AsyncIterator[tuple[Service, anyio.Event]]:
    service = Service(connection, node, "1.2.3.dev4", settings or BusSettings())
    service.add("health", wire.HealthRequest, wire.HealthReply, verbs.health)
    service.add("events", wire.EventsRequest, wire.EventsReply, verbs.events)
    service.add("repo.list", wire.RepoListRequest, wire.RepoListReply, _no_repos)
    stop = anyio.Event()
    async with anyio.create_task_group() as group:
        await group.start(service.run, stop)
        try:
            yield service, stop
        finally:
            stop.set()
            verbs.released.set()


async def _no_repos(agent: str, request: wire.RepoListRequest) -> wire.RepoListReply:
    return wire.RepoListReply(repos=())


async def ask(connection: Connection, verb: str, body: Any = None, *, agent: str = "me", timeout: float = 10) -> Any:
    return json.loads((await raw(connection, verb, body, agent=agent, timeout=timeout)).data)


async def raw(connection: Connection, verb: str, body: Any = None, *, agent: str = "me", timeout: float = 10) -> Msg:
    data = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
    return await connection.request(f"recall.v1.{agent}.{verb}", data, timeout=timeout)


async def test_slow_requests_are_answered_side_by_side(nats: str) -> None:
    """A handler that nats-py awaited itself would never see the second request before the first is answered."""
    verbs = Verbs()
    async with (
        connected(nats) as server,
        connected(nats) as client,
        serving(server, verbs) as (service, _),
        anyio.create_task_group() as group,
    ):
        for _number in range(4):
            group.start_soon(ask, client, "health")
        await verbs.until_begun(4)
        assert service.in_flight == 4
        verbs.released.set()


async def test_every_serving_node_says_what_it_counted(nats: str) -> None:
    verbs, failing = Verbs(), Verbs()
    failing.failure = NotFoundError("nothing")
    async with (
        connected(nats) as one,
        connected(nats) as two,
        RecallClient(nats, agent="me") as client,
    ):
        assert await client.services() == ()
        async with serving(one, verbs, node="one"), serving(two, failing, node="two"):
            for _number in range(20):
                with suppress(NotFoundError):
                    await client.events()
            first, second = await client.services()
    assert (first.node, second.node) == ("one", "two") and set(first.verbs) == {"health", "events", "repo.list"}
    assert first.verbs["events"].requests + second.verbs["events"].requests == 20
    assert (first.verbs["events"].errors, second.verbs["events"].errors) == (0, second.verbs["events"].requests)
    assert first.verbs["events"].busy_ms > 0 and first.verbs["health"].busy_ms == 0


async def test_a_stop_answers_what_was_asked_before_it(nats: str) -> None:
    """nats-py's own stop drops requests that are in work or queued."""
    verbs = Verbs()
    async with connected(nats) as server, connected(nats) as client, serving(server, verbs) as (_, stop):
        replies: list[Any] = []

        async def call() -> None:
            replies.append(await ask(client, "health"))

        async with anyio.create_task_group() as group:
            for _number in range(4):
                group.start_soon(call)
            await verbs.until_begun(4)
            stop.set()
            with anyio.fail_after(5):
                while True:
                    try:
                        await ask(client, "events")
                    except UnreachableError:
                        break
            verbs.released.set()
        assert [reply["state"] for reply in replies] == ["ready"] * 4


async def test_what_a_stop_cannot_wait_for_is_told_so(nats: str) -> None:
    verbs = Verbs()
    settings = BusSettings(drain_s=0.05)
    async with connected(nats) as server, connected(nats) as client, serving(server, verbs, settings) as (_, stop):

        async def end() -> None:
            await verbs.until_begun(1)
            stop.set()

        async with anyio.create_task_group() as group:
            group.start_soon(end)
            reply = await ask(client, "health")
        assert reply["error"]["code"] == "dependency"
        assert "stopping" in reply["error"]["message"]


async def test_a_deadline_is_the_requests_own_or_the_servers(nats: str) -> None:
    verbs = Verbs()
    settings = BusSettings(deadline_s=0.1)
    async with connected(nats) as server, connected(nats) as client, serving(server, verbs, settings):
        for body in ({"deadline_ms": 20}, {}):
            message = await raw(client, "health", body)
            error = json.loads(message.data)["error"]
            assert error["code"] == "deadline"
            assert error["suggestion"]
            assert (message.headers or {})["Nats-Service-Error-Code"] == "504"


async def test_more_than_allowed_at_once_is_busy(nats: str) -> None:
    verbs = Verbs()
    settings = BusSettings(max_in_flight=2)
    async with connected(nats) as server, connected(nats) as client, serving(server, verbs, settings):
        async with anyio.create_task_group() as group:
            group.start_soon(ask, client, "health")
            group.start_soon(ask, client, "health")
            await verbs.until_begun(2)
            reply = await ask(client, "events")
            assert reply["error"]["code"] == "busy"
            assert reply["error"]["suggestion"]
            verbs.released.set()
        assert "events" in await ask(client, "events")


BAD: list[tuple[str, bytes, str]] = [
    ("events", b"{", "bad_request"),
    ("events", b"\xff\xfe\x00", "bad_request"),
    ("events", b"null", "bad_request"),
    ("events", b"[]", "bad_request"),
    ("events", b"[" * 60_000, "bad_request"),
    ("events", b'{"limit": "many"}', "bad_request"),
    ("events", b'{"limit": 100000}', "bad_request"),
    ("events", b'{"colour": "red"}', "bad_request"),
    ("events", b'{"topic": "\\ud800"}', "bad_request"),
    ("events", b'{"topic": "' + b"x" * 70_000 + b'"}', "too_large"),
]


@pytest.mark.parametrize(("verb", "body", "code"), BAD)
async def test_a_bad_request_is_answered_by_name(nats: str, verb: str, body: bytes, code: str) -> None:
    async with connected(nats, with_streams=False) as connection, serving(connection, Verbs()):
        message = await raw(connection, verb, body)
        error = json.loads(message.data)["error"]
        assert error["code"] == code
        assert error["message"]
        assert error["suggestion"]
        headers = message.headers or {}
        assert headers["Nats-Service-Error"]
        assert headers["Nats-Service-Error-Code"] in ("400", "413")
        assert "events" in await ask(connection, verb)


async def test_an_unknown_field_is_answered_with_those_that_are_known(nats: str) -> None:
    async with connected(nats, with_streams=False) as connection, serving(connection, Verbs()):
        error = (await ask(connection, "events", {"colour": "red"}))["error"]
        assert "colour" in error["message"]
        assert "topic" in error["suggestion"]


async def test_an_empty_body_is_a_request_without_fields(nats: str) -> None:
    async with connected(nats, with_streams=False) as connection, serving(connection, Verbs()):
        assert (await ask(connection, "events", b""))["events"][0]["data"]["limit"] == 50


async def test_the_caller_is_the_one_in_the_subject(nats: str) -> None:
    async with connected(nats, with_streams=False) as connection, serving(connection, Verbs()):
        assert (await ask(connection, "events", agent="agent_7-b"))["events"][0]["data"]["agent"] == "agent_7-b"
        for agent in ("a@b", "x" * 65, "ümlaut", "$SYS"):
            error = (await ask(connection, "events", agent=agent))["error"]
            assert error["code"] == "bad_request", agent
            assert "agent name" in error["message"]


async def test_an_error_of_a_handler_is_named_and_a_bug_is_not_shown(nats: str) -> None:
    verbs = Verbs()
    async with connected(nats, with_streams=False) as connection, serving(connection, verbs):
        verbs.failure = NotFoundError("no document é\r\nNats-Service-Error-Code: 200", suggestion="look\nagain")
        message = await raw(connection, "events")
        assert json.loads(message.data)["error"] == {
            "code": "not_found",
            "message": "no document é\r\nNats-Service-Error-Code: 200",
            "suggestion": "look\nagain",
        }
        assert (message.headers or {})["Nats-Service-Error-Code"] == "404"
        assert (message.headers or {})["Nats-Service-Error"] == "no document ? Nats-Service-Error-Code: 200"
        verbs.failure = KeyError("postgresql://user:secret@host")
        message = await raw(connection, "events")
        assert json.loads(message.data)["error"]["code"] == "internal"
        assert (message.headers or {})["Nats-Service-Error-Code"] == "500"
        assert b"secret" not in message.data
        assert "secret" not in str(message.headers)


async def test_a_reply_larger_than_nats_takes_is_an_error_and_the_service_lives(nats: str) -> None:
    verbs = Verbs()
    async with connected(nats, with_streams=False) as connection, serving(connection, verbs):
        verbs.reply_size = connection.max_payload
        error = (await ask(connection, "events"))["error"]
        assert error["code"] == "too_large"
        assert "limit" in error["suggestion"]
        verbs.reply_size = 10
        assert "events" in await ask(connection, "events")


async def test_a_request_without_an_inbox_is_not_worked_on(nats: str) -> None:
    """Neither one that wants no reply, nor one that would have the daemon publish where an agent may not."""
    verbs = Verbs()
    async with connected(nats) as connection, serving(connection, verbs):
        victim = subjects.ingest("memory", "a.md")
        for reply in ("", victim, "$JS.API.STREAM.PURGE.RECALL_INGEST"):
            await connection.publish("recall.v1.me.events", b"{}", reply=reply)
        await ask(connection, "events")
        assert len(verbs.seen) == 1
        info = await connection.jetstream.stream_info(subjects.INGEST_STREAM)
        assert info.state.last_seq == 0


async def test_discovery_as_of_any_micro_service(nats: str) -> None:
    async with connected(nats, with_streams=False) as connection, serving(connection, Verbs()):
        ping, info, stats = [
            json.loads((await connection.request(f"$SRV.{verb}.recalld", b"", timeout=5)).data)
            for verb in ("PING", "INFO", "STATS")
        ]
        assert ping["type"] == "io.nats.micro.v1.ping_response"
        assert (ping["name"], ping["version"], ping["metadata"]) == ("recalld", "1.2.3-dev4", {"node": "one"})
        assert info["id"] == stats["id"] == ping["id"]
        endpoints = {endpoint["name"]: endpoint for endpoint in info["endpoints"]}
        assert set(endpoints) == {"health", "events", "repo_list"}
        assert endpoints["repo_list"]["subject"] == "recall.v1.*.repo.list"
        assert {endpoint["queue_group"] for endpoint in info["endpoints"]} == {"recalld"}
        schema = json.loads(endpoints["events"]["metadata"]["request_schema"])
        assert schema["additionalProperties"] is False
        assert schema["properties"]["limit"]["maximum"] == 1_000
        assert "events" in json.loads(endpoints["events"]["metadata"]["reply_schema"])["properties"]


async def test_the_statistics_are_of_the_answers(nats: str) -> None:
    """nats-py stops its clock when the handler returns, which is when the request was handed over."""
    verbs = Verbs()
    async with connected(nats) as server, connected(nats) as client, serving(server, verbs):
        async with anyio.create_task_group() as group:
            group.start_soon(ask, client, "health")
            await verbs.until_begun(1)
            endpoints = await _stats(client)
            assert endpoints["health"]["data"]["in_flight"] == 1
            await anyio.sleep(0.02)  # what is measured
            verbs.released.set()
        await ask(client, "events", {"limit": 0})
        endpoints = await _stats(client)
        assert endpoints["health"]["num_requests"] == 1
        assert endpoints["health"]["average_processing_time"] >= 20_000_000
        assert endpoints["events"]["num_errors"] == 1
        assert "limit" in endpoints["events"]["last_error"]


async def _stats(connection: Connection) -> dict[str, Any]:
    reply = json.loads((await connection.request("$SRV.STATS.recalld", b"", timeout=5)).data)
    return {endpoint["name"]: endpoint for endpoint in reply["endpoints"]}


async def test_servers_share_the_load(nats: str) -> None:
    seen = []
    async with connected(nats) as one, connected(nats) as two, connected(nats) as client:
        first, second = Verbs(), Verbs()
        async with serving(one, first, node="one"), serving(two, second, node="two") as (_, stop):
            for _number in range(60):
                await ask(client, "events")
            assert min(len(first.seen), len(second.seen)) > 5
            assert len(first.seen) + len(second.seen) == 60
            stop.set()
            seen = [await ask(client, "events") for _number in range(10)]
    assert all("events" in reply for reply in seen)


async def test_the_librarys_own_stop_drops_requests(nats: str) -> None:
    """Why the service does not use it. When this fails, nats-py drains, and ``Service._unregister`` can go."""
    async with connected(nats) as server, connected(nats) as client:
        released, begun = anyio.Event(), anyio.Event()

        async def slow(request: Any) -> None:
            begun.set()
            await released.wait()
            await request.respond(b"{}")

        micro: MicroService = await nats_micro.add_service(server.client, name="slow", version="1.0.0")
        await micro.add_endpoint(name="slow", subject="test.slow", handler=slow)
        await server.flush()
        outcomes: list[str] = []

        async def call() -> None:
            try:
                await client.request("test.slow", b"", timeout=0.3)
                outcomes.append("answered")
            except TimeoutError:
                outcomes.append("lost")

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            group.start_soon(call)
            await begun.wait()
            await client.flush()
            await micro.stop()
            released.set()
        assert "lost" in outcomes
