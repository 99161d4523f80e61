"""kill -9 of each process in the middle of a load: after the restart the index equals one made from scratch."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from recalld.bus import wire
from recalld.bus.client import RecallClient
from tests.support.daemon import Daemon
from tests.support.directories import short_directory
from tests.support.repos import write_memos
from tests.support.waiting import contents, contents_from_scratch, until_indexed

FILES = 2_000
ENOUGH = 300
"""Documents after which the load is well under way."""


async def half_way(client: RecallClient) -> None:
    """Return in the middle of the load."""
    done = 0
    with anyio.fail_after(60):
        async with client.follow("indexed") as events:
            async for _ in events:
                done += 1
                if done == ENOUGH:
                    return


async def begin(daemon: Daemon, root: Path) -> None:
    await daemon.start()
    async with daemon.client() as client, anyio.create_task_group() as group:
        group.start_soon(half_way, client)
        await client.repo_add(wire.RepoAddRequest(path=str(root), name="memory"))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("victim", ["daemon", "postgres", "nats"])
async def test_kill_in_the_middle_of_a_load(victim: str, tmp_path: Path) -> None:
    root = tmp_path / "memory"
    written = write_memos(root, range(FILES), words=20)
    with short_directory() as directory:
        daemon = Daemon(directory / "state")
        await begin(daemon, root)
        try:
            if victim == "daemon":
                await daemon.kill()
                await daemon.start()
            else:
                (child,) = daemon.children(victim)
                child.kill()
            async with daemon.client() as client:
                await until_indexed(client, "memory", written, timeout=150)
                found = await contents(client, "memory")
        finally:
            await daemon.stop()
        assert found == await contents_from_scratch(directory / "other", root, "memory")
