"""Who asks on the bus: the client, watching nodes, and serving nodes that have repos scanned."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from nats.aio.msg import Msg

from recalld.bus import internal, subjects, wire
from recalld.bus.client import RecallClient
from recalld.bus.connection import Connection
from recalld.bus.remote_index import RemoteIndex
from recalld.bus.scan import ScanClient, ScanServer
from recalld.bus.service import Service
from recalld.errors import (
    BusyError,
    DeadlineError,
    DependencyError,
    NotFoundError,
    RecalldError,
    RefusedError,
    TooLargeError,
    UnreachableError,
    UsageError,
)
from recalld.model import DocumentState, FileStat, Finding, ManifestEntry, Position, Repo, Severity
from recalld.settings import BusSettings
from tests.support.bus import NOW, connected

REPO = Repo("memory", "/memory", "watcher")


@asynccontextmanager
async def serving(
    connection: Connection, verb: str, request: type[Any], reply: type[Any], handler: Callable[..., Awaitable[Any]]
) -> AsyncIterator[None]:
    service, stop = Service(connection, "one", "1.0.0", BusSettings(drain_s=0)), anyio.Event()
    service.add(verb, request, reply, handler)
    async with anyio.create_task_group() as group:
        await group.start(service.run, stop)
        try:
            yield
        finally:
            stop.set()


class Index:
    """An index that is asked over the bus; ``limit`` is the most rows that fit into a reply."""

    def __init__(self, count: int, *, limit: int = 10_000) -> None:
        self.rows = {f"{number:05d}.md": row(f"{number:05d}.md", number) for number in range(count)}
        self.limit = limit
        self.requests: list[internal.ManifestRequest] = []
        self.observed: list[internal.ObserveRequest] = []
        self.agents: set[str] = set()

    async def manifest(self, agent: str, request: internal.ManifestRequest) -> internal.ManifestReply:
        self.agents.add(agent)
        self.requests.append(request)
        if min(request.limit, len(request.paths or self.rows)) > self.limit:
            raise TooLargeError("too much")
        if request.paths is not None:
            found = [self.rows[path] for path in request.paths if path in self.rows]
            return internal.ManifestReply(entries=tuple(found), next=None)
        paths = sorted(path for path in self.rows if request.after is None or path > request.after)
        page = paths[: request.limit]
        more = page[-1] if len(paths) > len(page) else None
        return internal.ManifestReply(entries=tuple(self.rows[path] for path in page), next=more)

    async def observe(self, agent: str, request: internal.ObserveRequest) -> internal.ObserveReply:
        self.observed.append(request)
        return internal.ObserveReply(stored=len(request.findings))


def row(path: str, number: int) -> tuple[Any, ...]:
    stat = (number, 1_700_000_000_123_456_789, 2, 2**63) if number % 2 else None
    return (path, DocumentState.INDEXED, f"hash {number}", stat, 1_796_069_458_708_671_234, number)


async def test_a_manifest_comes_whole_in_pages(nats: str) -> None:
    index = Index(4_500)
    async with (
        connected(nats, with_streams=False) as connection,
        serving(connection, "manifest", internal.ManifestRequest, internal.ManifestReply, index.manifest),
    ):
        found = await RemoteIndex(connection, "watcher").manifest("memory")
    assert len(found) == 4_500
    assert index.agents == {"watcher"}
    assert found["00003.md"] == ManifestEntry(
        "00003.md",
        DocumentState.INDEXED,
        "hash 3",
        FileStat(3, 1_700_000_000_123_456_789, 2, 2**63),
        Position(1_796_069_458_708_671_234, 3),
    )
    assert found["00004.md"].stat is None


async def test_pages_get_smaller_when_they_are_too_large(nats: str) -> None:
    index = Index(100, limit=40)
    async with (
        connected(nats, with_streams=False) as connection,
        serving(connection, "manifest", internal.ManifestRequest, internal.ManifestReply, index.manifest),
    ):
        remote = RemoteIndex(connection, "watcher")
        assert len(await remote.manifest("memory")) == 100
        assert len(await remote.entries("memory", [*index.rows, "never.md"])) == 100
        index.limit = 0
        with pytest.raises(TooLargeError):
            await remote.manifest("memory")


async def test_any_number_of_paths_of_any_length(nats: str) -> None:
    index = Index(0)
    paths = [f"{number:05d}/" + "é" * 2_000 for number in range(120)]
    index.rows = {path: row(path, at) for at, path in enumerate(paths)}
    async with (
        connected(nats, with_streams=False) as connection,
        serving(connection, "manifest", internal.ManifestRequest, internal.ManifestReply, index.manifest),
    ):
        found = await RemoteIndex(connection, "watcher").entries("memory", paths)
        assert await RemoteIndex(connection, "watcher").entries("memory", []) == {}
    assert set(found) == set(paths)


async def test_a_long_report_goes_in_parts_and_drops_others_findings_once(nats: str) -> None:
    index = Index(0)
    findings = [
        Finding("memory", f"{number}.md", "unreadable", Severity.WARNING, "x" * 500, "chmod", line=number)
        for number in range(200)
    ]
    async with (
        connected(nats, with_streams=False) as connection,
        serving(connection, "observe", internal.ObserveRequest, internal.ObserveReply, index.observe),
    ):
        await RemoteIndex(connection, "watcher").observe(
            "memory",
            state="watching",
            commit="abc",
            scanned_at=NOW,
            findings=findings,
            cleared=[f"{number}" * 100 for number in range(500)],
            complete=True,
        )
        told = index.observed
        index.observed = []
        await RemoteIndex(connection, "watcher").observe("memory", state="offline")
    assert [request.complete for request in told] == [True] + [False] * (len(told) - 1)
    assert len(told) > 4
    assert (told[0].state, told[0].commit, told[0].scanned_at) == ("watching", "abc", NOW)
    assert {request.state for request in told[1:]} == {None}
    assert [view.path for request in told for view in request.findings] == [finding.path for finding in findings]
    assert sum(len(request.cleared) for request in told) == 500
    assert [request.state for request in index.observed] == ["offline"]


async def test_a_busy_index_is_a_dependency_that_comes_back(nats: str) -> None:
    async def busy(agent: str, request: internal.ManifestRequest) -> internal.ManifestReply:
        raise BusyError("busy")

    async with (
        connected(nats, with_streams=False) as connection,
        serving(connection, "manifest", internal.ManifestRequest, internal.ManifestReply, busy),
    ):
        with pytest.raises(DependencyError):
            await RemoteIndex(connection, "watcher").manifest("memory")


async def test_nobody_serves(nats: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with RecallClient(nats, agent="me", patience_s=0.1) as client:
        with pytest.raises(UnreachableError, match="search") as raised:
            await client.search("anything")
        assert "recalld run" in raised.value.suggestion


async def test_nobody_is_there() -> None:
    with pytest.raises(UnreachableError, match="no NATS server"):
        async with RecallClient("nats://127.0.0.1:1", patience_s=0.1):
            raise AssertionError


async def test_a_serving_node_that_comes_while_it_is_waited_for(nats: str) -> None:
    async def repos(agent: str, request: wire.RepoListRequest) -> wire.RepoListReply:
        return wire.RepoListReply(repos=())

    async with connected(nats, with_streams=False) as connection, RecallClient(nats, patience_s=10) as client:
        stop = anyio.Event()
        async with anyio.create_task_group() as group:

            async def ask() -> None:
                await client.repo_list()
                stop.set()

            group.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            async with serving(connection, "repo.list", wire.RepoListRequest, wire.RepoListReply, repos):
                await stop.wait()


async def test_a_requests_fields_by_name(nats: str) -> None:
    seen: list[wire.GetRequest] = []

    async def get(agent: str, request: wire.GetRequest) -> wire.GetReply:
        seen.append(request)
        raise NotFoundError("none", suggestion="look elsewhere")

    async with (
        connected(nats, with_streams=False) as connection,
        serving(connection, "get", wire.GetRequest, wire.GetReply, get),
        RecallClient(nats) as client,
    ):
        for call in (
            client.get("a.md", repo="memory"),
            client.get(wire.GetRequest(ref="a.md", repo="memory")),
            client.get(ref="a.md", repo="memory"),
        ):
            with pytest.raises(NotFoundError):
                await call
        assert [(request.ref, request.repo, request.deadline_ms) for request in seen] == [
            ("a.md", "memory", 30_000)
        ] * 3
        with pytest.raises(UsageError, match="ref: Field required"):
            await client.get(repo="memory")
        with pytest.raises(UsageError, match="colour"):
            await client.get("a.md", colour="red")
        with pytest.raises(UsageError, match="not both"):
            await client.get(wire.GetRequest(ref="a.md"), repo="memory")


async def test_the_daemons_deadline_is_heard_of(nats: str) -> None:
    async def slow(agent: str, request: wire.HealthRequest) -> wire.HealthReply:
        await anyio.sleep_forever()
        raise AssertionError

    async def silent(message: Msg) -> None:
        return

    async with connected(nats, with_streams=False) as connection, RecallClient(nats, deadline_s=0.05) as client:
        async with serving(connection, "health", wire.HealthRequest, wire.HealthReply, slow):
            with anyio.fail_after(1), pytest.raises(DeadlineError, match="no answer within"):
                await client.health()
        await connection.subscribe("recall.v1.*.stats", silent)
        with anyio.fail_after(3), pytest.raises(DeadlineError, match="no answer to"):
            await client.stats()


async def test_a_reply_of_another_version_is_named(nats: str) -> None:
    async def nonsense(message: Msg) -> None:
        await message.respond(b'{"repos": 7}')

    async def newer(message: Msg) -> None:
        await message.respond(b'{"changes": [], "cursor": "x", "more": false, "from_the_future": 1}')

    async with connected(nats, with_streams=False) as connection, RecallClient(nats) as client:
        await connection.subscribe("recall.v1.*.repo.list", nonsense)
        await connection.subscribe("recall.v1.*.delta", newer)
        with pytest.raises(DependencyError, match="not understood"):
            await client.repo_list()
        assert (await client.delta()).cursor == "x"


async def test_a_client_that_is_not_connected_or_cannot_be() -> None:
    with pytest.raises(UsageError, match="not connected"):
        await RecallClient("nats://127.0.0.1:1").health()
    for agent in ("", "a.b", "a b", ">", "x" * 65):
        with pytest.raises(UsageError, match="agent name"):
            RecallClient("nats://127.0.0.1:1", agent=agent)


async def test_a_request_that_is_too_large_for_nats(nats: str) -> None:
    async with RecallClient(nats) as client:
        with pytest.raises(TooLargeError):
            await client.repo_add("/memory", include=["x" * 1_000] * 2_000)


@asynccontextmanager
async def scanning(
    connection: Connection, scan: Callable[[str, wire.ReindexRequest], Awaitable[wire.ScanReport]]
) -> AsyncIterator[anyio.Event]:
    stop = anyio.Event()
    async with anyio.create_task_group() as group:
        await group.start(ScanServer(connection, "watcher", scan).run, stop)
        try:
            yield stop
        finally:
            stop.set()


async def test_a_repo_is_scanned_by_the_node_that_watches_it(nats: str) -> None:
    seen: list[tuple[str, wire.ReindexRequest]] = []

    async def scan(repo: str, request: wire.ReindexRequest) -> wire.ScanReport:
        seen.append((repo, request))
        return wire.ScanReport(repo=repo, seen=7, last_seq=3)

    async with connected(nats, with_streams=False) as connection, scanning(connection, scan):
        report = await ScanClient(connection).scan(REPO, wire.ReindexRequest(path="a.md", force=True))
    assert (report.repo, report.seen, report.last_seq) == ("memory", 7, 3)
    ((repo, request),) = seen
    assert (repo, request.path, request.force, request.allow_prune) == ("memory", "a.md", True, False)


async def test_scans_of_several_repos_run_side_by_side(nats: str) -> None:
    begun, both = 0, anyio.Event()

    async def scan(repo: str, request: wire.ReindexRequest) -> wire.ScanReport:
        nonlocal begun
        begun += 1
        if begun == 2:
            both.set()
        await both.wait()
        return wire.ScanReport(repo=repo)

    async with connected(nats, with_streams=False) as connection, scanning(connection, scan):
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                for _ in range(2):
                    group.start_soon(ScanClient(connection).scan, REPO, wire.ReindexRequest())


@pytest.mark.parametrize(
    ("raised", "expected"),
    [(RefusedError("too much", suggestion="--allow-prune"), RefusedError), (KeyError("secret"), RecalldError)],
)
async def test_a_scan_that_fails_says_why(nats: str, raised: Exception, expected: type[RecalldError]) -> None:
    async def scan(repo: str, request: wire.ReindexRequest) -> wire.ScanReport:
        raise raised

    async with connected(nats, with_streams=False) as connection, scanning(connection, scan):
        with pytest.raises(expected) as error:
            await ScanClient(connection).scan(REPO, wire.ReindexRequest())
    assert "secret" not in error.value.message
    assert error.value.suggestion


async def test_a_node_that_is_not_there_or_stops_or_takes_too_long(nats: str) -> None:
    begun = anyio.Event()

    async def never(repo: str, request: wire.ReindexRequest) -> wire.ScanReport:
        begun.set()
        await anyio.sleep_forever()
        raise AssertionError

    async with connected(nats, with_streams=False) as connection:
        client = ScanClient(connection)
        with pytest.raises(UnreachableError, match="node watcher, which watches memory") as error:
            await client.scan(REPO, wire.ReindexRequest())
        assert "role watch" in error.value.suggestion
        async with scanning(connection, never) as stop:
            with pytest.raises(DeadlineError):
                await client.scan(REPO, wire.ReindexRequest(deadline_ms=20))
            begun = anyio.Event()
            async with anyio.create_task_group() as group:

                async def end() -> None:
                    await begun.wait()
                    stop.set()

                group.start_soon(end)
                with anyio.fail_after(5), pytest.raises(DependencyError, match="stopping"):
                    await client.scan(REPO, wire.ReindexRequest())


async def test_a_scan_request_that_is_none(nats: str) -> None:
    scanned: list[str] = []

    async def scan(repo: str, request: wire.ReindexRequest) -> wire.ScanReport:
        scanned.append(repo)
        return wire.ScanReport(repo=repo)

    async with connected(nats, with_streams=False) as connection, scanning(connection, scan):
        for body in (b"", b"{", b'{"colour": 1}'):
            message = await connection.request(subjects.scan("watcher"), body, timeout=5)
            assert json.loads(message.data)["error"]["code"] == "bad_request"
        await connection.publish(subjects.scan("watcher"), b"{}", reply="$JS.API.STREAM.PURGE.RECALL_INGEST")
        await connection.request(subjects.scan("watcher"), b'{"repo": "x"}', timeout=5)
    assert scanned == ["x"]
