"""A second start with nothing changed, 10,000 files: how long until ready and fresh, beyond the servers' own start."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import anyio

from recalld.bus import wire
from recalld.bus.client import RecallClient
from recalld.embedded.nats import EmbeddedNats
from recalld.embedded.postgres import EmbeddedPostgres
from tests.bench.figure import Figure, median, report
from tests.support.daemon import Daemon, running
from tests.support.directories import short_directory
from tests.support.repos import on_disk, write_memos
from tests.support.waiting import until_indexed

FILES = 10_000
STARTS = 5


async def measure() -> list[Figure]:
    """Index once, then start again and again."""
    with tempfile.TemporaryDirectory() as name, short_directory() as directory:
        root, state = Path(name), directory / "state"
        write_memos(root, range(FILES), words=12)
        async with running(state) as daemon, daemon.client() as client:
            await client.repo_add(wire.RepoAddRequest(path=str(root), name="memory"))
            await until_indexed(client, "memory", on_disk(root), timeout=600)
        whole, servers = [], []
        for _ in range(STARTS):
            servers.append(await _servers(state))
            whole.append(await _start(Daemon(state)))
    beyond = [mine - theirs for mine, theirs in zip(whole, servers, strict=True)]
    seconds = median(beyond)
    baseline = f"servers alone {median(servers):.2f} s, whole start {median(whole):.2f} s, {STARTS} starts"
    return [Figure("second start, 10,000 files, ready and fresh", seconds, "s", baseline, "<= 3 s", seconds <= 3)]


async def _servers(state: Path) -> float:
    begun = time.perf_counter()
    async with await EmbeddedPostgres.start(state), await EmbeddedNats.start(state):
        return time.perf_counter() - begun


async def _start(daemon: Daemon) -> float:
    """Return the seconds from the start of the process until its first scan is done and nothing is pending."""
    begun = time.perf_counter()
    since = time.time()
    await daemon.start()
    try:
        async with daemon.client() as client:
            await _until_fresh(client, since)
        return time.perf_counter() - begun
    finally:
        await daemon.stop()


async def _until_fresh(client: RecallClient, since: float) -> None:
    with anyio.fail_after(60):
        while True:
            stats = await client.stats(wire.StatsRequest())
            scanned = stats.repos[0].last_scan_at
            if scanned and scanned.timestamp() >= since and not stats.freshness.pending:
                return
            await anyio.sleep(0.02)


if __name__ == "__main__":
    report(measure)
