"""Findings: what each source says of each path, since when, and how often."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import anyio
import pytest

from recalld.model import Finding, Severity
from recalld.store import Store
from tests.support.stored import AT, add_repo

LATER = AT + timedelta(hours=1)


@pytest.fixture
async def store(postgres: str) -> AsyncIterator[Store]:
    opened = await Store.open(postgres)
    await add_repo(opened)
    yield opened
    await opened.aclose()


def finding(path: str, message: str, code: str = "broken") -> Finding:
    return Finding("memory", path, code, Severity.WARNING, message, "mend it", 3, "title")


async def test_one_seen_again_keeps_its_first_time_and_counts(store: Store) -> None:
    await store.findings.replace("memory", "a.md", "ingest", [finding("a.md", "one"), finding("a.md", "two")], at=AT)
    await store.findings.replace("memory", "a.md", "ingest", [finding("a.md", "one"), finding("a.md", "new")], at=LATER)
    found = {row.message: row for row in await store.findings.list()}
    assert {(row.message, row.attempts, row.first_seen, row.last_seen) for row in found.values()} == {
        ("one", 2, AT, LATER),
        ("new", 1, LATER, LATER),
    }
    one = found["one"]
    assert (one.severity, one.hint, one.line, one.key) == (Severity.WARNING, "mend it", 3, "title")


async def test_sources_do_not_touch_each_others(store: Store) -> None:
    await store.findings.replace("memory", "a.md", "ingest", [finding("a.md", "one")], at=AT)
    await store.findings.replace("memory", "a.md", "watch", [finding("a.md", "two")], at=AT)
    await store.findings.replace("memory", "a.md", "ingest", [], at=LATER)
    assert [row.message for row in await store.findings.list()] == ["two"]


async def test_a_full_report_clears_what_it_does_not_mention(store: Store) -> None:
    for path in ("a.md", "b.md", ""):
        await store.findings.replace("memory", path, "watch", [finding(path, "seen")], at=AT)
    await store.findings.replace("memory", "a.md", "ingest", [finding("a.md", "stays")], at=AT)
    await store.findings.clear_others("memory", "watch", ["b.md"])
    assert {(row.path, row.message) for row in await store.findings.list()} == {("b.md", "seen"), ("a.md", "stays")}


async def test_the_newest_are_listed_first_and_can_be_narrowed(store: Store) -> None:
    await add_repo(store, "other")
    for number in range(5):
        path = f"{number}.md"
        await store.findings.replace("memory", path, "watch", [finding(path, "m")], at=AT + timedelta(hours=number))
    assert [row.path for row in await store.findings.list(limit=2)] == ["4.md", "3.md"]
    assert [row.path for row in await store.findings.list(repo="memory", path="1.md")] == ["1.md"]
    assert await store.findings.list(repo="other") == []


async def test_two_reports_on_a_path_at_once_do_not_add_up(store: Store) -> None:
    async def one() -> None:
        await store.findings.replace("memory", "a.md", "watch", [finding("a.md", "m")], at=AT)

    async with anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(one)
    (found,) = await store.findings.list()
    assert found.attempts == 6


async def test_a_repo_that_is_gone_is_not_spoken_of(store: Store) -> None:
    await store.findings.replace("never", "a.md", "watch", [finding("a.md", "m")], at=AT)
    await store.findings.replace("memory", "a.md", "watch", [finding("a.md", "m")], at=AT)
    await store.repos.remove("memory")
    assert await store.findings.list() == []


async def test_files_that_the_watcher_could_not_hand_over_count_as_stale(store: Store) -> None:
    for path, code in (("a.md", "unreadable"), ("b.md", "not-published"), ("c.md", "too_large")):
        await store.findings.replace("memory", path, "watch", [finding(path, "m", code)], at=AT)
    assert (await store.stats.totals()).stale == 2
