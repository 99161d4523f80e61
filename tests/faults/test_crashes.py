"""kill -9 of each process in the middle of a load: after the restart the index equals one made from scratch.

And what clients are told meanwhile: that a part is away, never that something is broken.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import anyio
import pytest

from recalld.bus import wire
from recalld.bus.client import RecallClient
from recalld.errors import RecalldError
from tests.support.daemon import Daemon, running
from tests.support.directories import short_directory
from tests.support.repos import on_disk, write_memos
from tests.support.waiting import contents, contents_from_scratch, until_indexed

FILES = 2_000
ENOUGH = 300
"""Documents after which the load is well under way."""
KILLS = 4
"""One more in so short a time, and the daemon takes it for a fault that it cannot mend."""


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


async def test_questions_while_postgres_dies_are_told_that_it_is_away(tmp_path: Path) -> None:
    write_memos(tmp_path, range(200), words=20)
    told: set[str] = set()
    news = anyio.Condition()

    async def ask_on(ask: Callable[[], Awaitable[object]]) -> None:
        while True:
            code = await _code(ask)
            async with news:
                told.add(code)
                news.notify_all()

    async def until(code: str) -> None:
        async with news:
            told.discard(code)
            while code not in told:
                await news.wait()

    with short_directory() as directory:
        async with running(directory / "state") as daemon, daemon.client() as client:
            await client.repo_add(wire.RepoAddRequest(path=str(tmp_path), name="memory"))
            await until_indexed(client, "memory", on_disk(tmp_path))
            asks: list[Callable[[], Awaitable[object]]] = [
                partial(client.stats, wire.StatsRequest()),
                partial(client.delta, wire.DeltaRequest(limit=5_000)),
                partial(client.search, wire.SearchRequest(query="memo")),
            ]
            async with anyio.create_task_group() as group:
                for ask in asks * 3:
                    group.start_soon(ask_on, ask)
                for _ in range(KILLS):
                    while not (children := daemon.children("postgres")):
                        await until("fine")
                    children[0].kill()
                    await until("dependency")
                await until("fine")
                group.cancel_scope.cancel()
    assert told == {"fine", "dependency"}


async def _code(ask: Callable[[], Awaitable[object]]) -> str:
    try:
        await ask()
    except RecalldError as error:
        return error.code
    return "fine"
