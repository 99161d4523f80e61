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


TITLES = {
    "memory": "We keep the broker",
    "faults": "error invalid-date",
    "lessons": "Never force-push a shared branch",
    "receipts": "why did we leave the message broker",
}


@pytest.mark.parametrize(("name", "title"), TITLES.items(), ids=str)
async def test_only_the_name_of_what_is_looked_at_is_bold(daemon: Daemon, name: str, title: str) -> None:
    async with shown(daemon, (120, 40), still=True) as (app, pilot):
        await visit(pilot, next(key for key, page in PAGE_OF.items() if page == name))
        await settle(pilot)
        about = app.screen.query_one("#about")
        lines = [about.render_line(y) for y in range(about.size.height)]
    assert lines[0].text.strip() == title and len(lines) > 3
    assert any(each.style and each.style.bold for each in lines[0])
    loud = [line.text for line in lines[1:] if any(each.style and each.style.bold for each in line)]
    assert not [text for text in loud if title not in text and "0001-broker.md" not in text], loud
