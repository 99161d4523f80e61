"""Daemons by role over one Postgres and one NATS server: what a small cluster looks like."""

from __future__ import annotations

from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import pytest

from recalld.bus import wire
from recalld.bus.client import RecallClient
from tests.support.daemon import Daemon, running
from tests.support.directories import short_directory
from tests.support.repos import on_disk, write_memos
from tests.support.waiting import until_indexed


async def start(stack: AsyncExitStack, base: Path, name: str, roles: str, **environment: str) -> Daemon:
    return await stack.enter_async_context(
        running(base / name, "--roles", roles, RECALLD_NODE__NAME=name, **environment)
    )


@pytest.mark.timeout(180)
async def test_five_daemons_share_one_memory(empty_postgres: str, nats: str, tmp_path: Path) -> None:
    root = tmp_path / "memory"
    write_memos(root, range(400), words=20)
    bus = {"RECALLD_BUS__SERVERS": nats}
    store = {**bus, "RECALLD_STORE__DSN": empty_postgres}
    with short_directory() as base:
        async with AsyncExitStack() as stack:
            for name in ("server-1", "server-2"):
                await start(stack, base, name, "serve", **store)
            for name in ("indexer-1", "indexer-2"):
                await start(stack, base, name, "index", **store)
            await start(stack, base, "watcher", "watch", **bus)
            client = await stack.enter_async_context(RecallClient(nats, agent="tester"))
            indexers: Counter[str] = Counter()
            async with client.follow("indexed") as events:
                await client.repo_add(wire.RepoAddRequest(path=str(root), name="memory", node="watcher"))
                with anyio.fail_after(90):
                    async for event in events:
                        indexers[event.node] += 1
                        if indexers.total() >= 400:
                            break
            await until_indexed(client, "memory", on_disk(root))
            assert set(indexers) == {"indexer-1", "indexer-2"}, indexers
            servers = {(await client.health(wire.HealthRequest())).node for _ in range(40)}
            assert servers == {"server-1", "server-2"}
            (root / "new.md").write_text("# New\n\nthe quagga decision\n")
            await until_indexed(client, "memory", on_disk(root))
            reply = await client.search(wire.SearchRequest(query="quagga decision"))
            assert reply.hits[0].path == "new.md"
            report = (await client.reindex(wire.ReindexRequest(repo="memory"))).reports[0]
            assert report.error is None
            assert report.changed == 0


async def test_a_watcher_opens_no_database(nats: str, tmp_path: Path) -> None:
    """Its settings name a database that is not there, and it does not mind."""
    with short_directory() as base:
        async with AsyncExitStack() as stack:
            await start(
                stack, base, "watcher", "watch",
                RECALLD_BUS__SERVERS=nats, RECALLD_STORE__DSN="postgresql://nobody@127.0.0.1:1/none",
            )  # fmt: skip
