"""What each screen of the dashboard looks like, small and large, as text that is kept."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.daemon import Daemon, running
from tests.support.dashboard import PAGE_OF, QUIET, TEXTS, compare, index_texts, lines_of, settle, shown, visit
from tests.support.directories import short_directory

SIZES = ((80, 24), (160, 48))
ELSEWHERE = ("overview", "recall", "events")
"""Screens that other tests compare, and one that tells of a file again where its message was delivered again."""
KEYS = [key for key, name in PAGE_OF.items() if name not in ELSEWHERE]


@pytest.fixture(scope="module")
async def daemon(anyio_backend: str) -> AsyncIterator[Daemon]:
    with short_directory() as directory:
        async with running(directory / "state", **QUIET) as started:
            async with started.client() as client:
                await index_texts(client, directory / "memory")
            async with started.client(agent="dashboard") as asker:
                await asker.search("why did we leave the message broker")
            yield started


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("key", KEYS, ids=PAGE_OF.get)
async def test_a_screen_looks_as_it_is_kept(daemon: Daemon, key: str, size: tuple[int, int]) -> None:
    async with shown(daemon, size, still=True) as (app, pilot):
        await visit(pilot, key)
        await settle(pilot)
        compare(app, PAGE_OF[key])


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_events_tell_of_each_file_once_or_more(daemon: Daemon, size: tuple[int, int]) -> None:
    async with shown(daemon, size, still=True) as (app, pilot):
        await visit(pilot, "3")
        await settle(pilot)
        lines = lines_of(app)
    [count] = [int(line.split()[0]) for line in lines if line.endswith(" events")]
    assert count >= len(TEXTS) + 1
    for path in TEXTS:
        assert any("indexed" in line and f"memory:{path}" in line for line in lines), path
    assert any("repo.added" in line and "memory:/srv/memory" in line for line in lines)
