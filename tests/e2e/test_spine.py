"""A saved file becomes an answer on the bus: one daemon, everything embedded."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from recalld.bus import wire
from recalld.bus.client import RecallClient
from recalld.errors import NotFoundError, UnreachableError
from recalld.model import State
from tests.support.daemon import Daemon, running
from tests.support.directories import short_directory
from tests.support.repos import memo, on_disk, write_memos
from tests.support.waiting import until_indexed


@pytest.fixture(scope="module")
async def daemon(anyio_backend: str) -> AsyncIterator[Daemon]:
    with short_directory() as directory:
        async with running(directory / "state") as started:
            yield started


@pytest.fixture
async def client(daemon: Daemon) -> AsyncIterator[RecallClient]:
    async with daemon.client() as connected:
        yield connected


@pytest.fixture
async def repo(client: RecallClient, tmp_path: Path) -> AsyncIterator[Path]:
    root = tmp_path / "memory"
    write_memos(root, range(5))
    await client.repo_add(wire.RepoAddRequest(path=str(root), name="memory"))
    await until_indexed(client, "memory", on_disk(root))
    yield root
    await client.repo_remove(wire.RepoRemoveRequest(name="memory"))


async def test_a_saved_file_is_found(client: RecallClient, repo: Path) -> None:
    (repo / "adr-007.md").write_text("# ADR-007\n\nWe chose zebrafish over walrus for the queue.\n")
    await until_indexed(client, "memory", on_disk(repo))
    reply = await client.search(wire.SearchRequest(query="which animal for the queue: zebrafish?"))
    assert reply.hits[0].path == "adr-007.md"
    assert reply.hits[0].lines[1] == 3
    assert reply.state is State.READY
    assert reply.hits[0].verdict == "unverified"
    assert not reply.calibrated


async def test_an_edit_replaces_and_a_delete_removes(client: RecallClient, repo: Path) -> None:
    path = repo / "d000" / "m00001.md"
    path.write_text(memo(1, version=7))
    await until_indexed(client, "memory", on_disk(repo))
    reply = await client.search(wire.SearchRequest(query="marker-1-v7"))
    assert reply.hits[0].path == "d000/m00001.md"
    assert "marker-1-v7" in reply.hits[0].text
    path.unlink()
    await until_indexed(client, "memory", on_disk(repo))
    with pytest.raises(NotFoundError):
        await client.get(wire.GetRequest(ref="d000/m00001.md", repo="memory"))


async def test_a_document_comes_back_whole(client: RecallClient, repo: Path) -> None:
    reply = await client.get(wire.GetRequest(ref="memory:d000/m00002.md"))
    assert reply.text == memo(2)
    assert reply.provenance.seq > 0


async def test_a_forgotten_document_stays_forgotten_until_undo(client: RecallClient, repo: Path) -> None:
    path = repo / "d000" / "m00003.md"
    await client.forget(wire.ForgetRequest(ref="d000/m00003.md", repo="memory"))
    path.write_text(memo(3, version=1))
    (repo / "later.md").write_text("# Later\n\nsaved after the forgotten one\n")
    await until_indexed(client, "memory", {k: v for k, v in on_disk(repo).items() if k != "d000/m00003.md"})
    reply = await client.search(wire.SearchRequest(query="marker-3-v1"))
    assert all(hit.path != "d000/m00003.md" for hit in reply.hits)
    await client.forget(wire.ForgetRequest(ref="d000/m00003.md", repo="memory", undo=True))
    await until_indexed(client, "memory", on_disk(repo))


async def test_the_reply_waits_for_the_sequence_that_it_is_asked_to_see(client: RecallClient, repo: Path) -> None:
    (repo / "seen.md").write_text("# Seen\n\nthe okapi rule\n")
    report = (await client.reindex(wire.ReindexRequest(repo="memory"))).reports[0]
    reply = await client.search(wire.SearchRequest(query="okapi rule", min_seq=report.last_seq or None))
    assert reply.hits[0].path == "seen.md"


async def test_filters_and_modes(client: RecallClient, repo: Path) -> None:
    for mode in ("dense", "lexical", "hybrid", "rerank"):
        reply = await client.search(
            wire.SearchRequest(query="marker-4-v0 memo", mode=mode, repo=("memory",), trace=True)
        )
        assert reply.hits, mode
        assert reply.trace
    nothing = await client.search(wire.SearchRequest(query="marker-4-v0", path="elsewhere/**"))
    assert not nothing.hits
    assert nothing.abstained
    assert nothing.reason


async def test_discovery(daemon: Daemon, client: RecallClient) -> None:
    import nats

    credentials = daemon.credentials()
    connection = await nats.connect(credentials.url)
    try:
        for verb in ("PING", "INFO", "STATS"):
            reply = json.loads((await connection.request(f"$SRV.{verb}.recalld", b"", timeout=5)).data)
            assert reply["name"] == "recalld", verb
    finally:
        await connection.close()


async def test_health_and_stats(client: RecallClient, repo: Path) -> None:
    health = await client.health(wire.HealthRequest())
    assert health.state is State.READY, health.checks
    stats = await client.stats(wire.StatsRequest(repo="memory"))
    assert stats.repos[0].documents == len(on_disk(repo))
    assert stats.freshness.pending == 0


async def test_events_tell_what_happened(client: RecallClient, repo: Path) -> None:
    async with client.follow("indexed") as events:
        (repo / "told.md").write_text("# Told\n\nby an event\n")
        with anyio.fail_after(20):
            async for event in events:
                if event.data["path"] == "told.md":
                    break
    history = await client.events(wire.EventsRequest(topic="indexed", limit=5))
    assert any(event.data["path"] == "told.md" for event in history.events)


async def test_sigterm_stops_within_ten_seconds_and_the_next_start_is_fresh(tmp_path: Path) -> None:
    root = tmp_path / "memory"
    write_memos(root, range(100))
    with short_directory() as directory:
        async with running(directory / "state") as daemon, daemon.client() as client:
            await client.repo_add(wire.RepoAddRequest(path=str(root), name="memory"))
            await until_indexed(client, "memory", on_disk(root))
        daemon = Daemon(directory / "state")
        await daemon.start()
        (root / "after.md").write_text("# After\n\nrestart\n")
        async with daemon.client() as client:
            await until_indexed(client, "memory", on_disk(root))
        assert await daemon.stop(timeout=10) == 0
        with pytest.raises(UnreachableError):
            async with RecallClient("nats://127.0.0.1:1", agent="tester") as client:
                await client.health(wire.HealthRequest())


async def test_a_second_daemon_on_the_state_directory_is_refused(daemon: Daemon) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "recalld", "run"],
        env={**os.environ, "RECALLD_NODE__STATE_DIR": str(daemon.state_dir)},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert result.returncode == 4
    assert f"pid {daemon.pid}" in result.stderr


async def test_sighup_takes_up_a_new_repo(tmp_path: Path) -> None:
    root = tmp_path / "late"
    write_memos(root, range(3))
    config = tmp_path / "recalld.toml"
    config.write_text("")
    with short_directory() as directory:
        async with running(directory / "state", "--config", str(config)) as daemon, daemon.client() as client:
            config.write_text(f'[[repos]]\npath = "{root}"\n')
            os.kill(daemon.pid, signal.SIGHUP)
            await until_indexed(client, "late", on_disk(root))
