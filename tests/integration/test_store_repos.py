"""The register of repos: who sees what at once, and a removal that leaves nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import asyncpg
import pytest

from recalld.errors import RetryLater
from recalld.model import Filters, Repo
from recalld.store import Outcome, Store
from recalld.store.repos import KNOWN_FOR_S, Repos
from tests.support.integrity import faults
from tests.support.stored import AT, add_generation, add_repo, vectors, write


@pytest.fixture
async def store(postgres: str) -> AsyncIterator[Store]:
    opened = await Store.open(postgres)
    yield opened
    await opened.aclose()


async def test_a_repo_comes_back_as_it_was_added(store: Store) -> None:
    repo = Repo("memory", "/srv/caf\udce9", "node", ("*.md", "\udcff"), ("tmp/",), True, ("me", "you"))
    added = await store.repos.add(repo, by="me", at=AT)
    assert added == replace(repo, id=added.id)
    assert await store.repos.get("memory") == added
    assert await store.repos.list() == [added]
    assert await store.repos.list(node="node") == [added]
    assert await store.repos.list(node="other") == []
    assert await store.repos.get("other") is None


async def test_adding_it_again_changes_how_it_is_watched_and_keeps_its_documents(store: Store) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    await write(store, repo, generation, "a.md", "text")
    changed = await store.repos.add(replace(repo, exclude=("x/",), read_only=True), by="me", at=AT)
    assert (changed.id, changed.exclude, changed.read_only) == (repo.id, ("x/",), True)
    assert await store.repos.get("memory") == changed
    assert await store.documents.get("memory", "a.md") is not None


async def test_another_nodes_change_is_seen_after_a_moment(store: Store, postgres: str) -> None:
    now = 100.0
    other = await Store.open(postgres)
    repos = Repos(other._database, lambda: now)
    try:
        repo = await add_repo(store)
        assert await repos.get("memory") == repo
        await store.repos.remove("memory")
        now += KNOWN_FOR_S
        assert await repos.get("memory") is None
        again = await add_repo(store)
        assert await repos.get("memory") == again
    finally:
        await other.aclose()


async def test_what_the_watcher_says_is_kept_until_it_says_otherwise(store: Store) -> None:
    await add_repo(store)
    await store.repos.observe("memory", state="watching", commit="abc", scanned_at=AT)
    await store.repos.observe("memory", state="offline", commit=None, scanned_at=None)
    (row,) = await store.stats.repos("memory")
    assert (row.state, row.commit, row.scanned_at) == ("offline", "abc", AT)


async def test_removing_a_repo_leaves_nothing(store: Store, postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recalld.store.repos._BITE", 2)
    repo, other, generation = await add_repo(store), await add_repo(store, "other"), await add_generation(store)
    for number in range(5):
        await write(store, repo, generation, f"{number}.md", f"text {number}", seq=number + 1)
    await write(store, other, generation, "kept.md", "text")
    assert await store.repos.remove("memory") == 5
    assert [row.name for row in await store.stats.repos(None)] == ["other"]
    assert await faults(postgres) == {}
    connection = await asyncpg.connect(postgres)
    try:
        for table in ("repo", "document", "chunk", "posting", "chunk_vector", "chunk_bits", "document_generation"):
            assert await connection.fetchval(f"SELECT count(*) FROM {table}") == 1, table
        assert await connection.fetchval("SELECT count(*) FROM embedding_cache") == 0
    finally:
        await connection.close()


async def test_removing_one_that_is_not_there_drops_nothing(store: Store) -> None:
    assert await store.repos.remove("never") == 0


async def test_a_removed_repo_is_out_of_sight_before_its_documents_are_dropped(store: Store, postgres: str) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    await write(store, repo, generation, "a.md", "text", seq=1)
    hold = await asyncpg.connect(postgres)
    try:
        # As after a daemon that was killed right after the first step of a removal.
        await hold.execute("UPDATE repo SET removed = true, name = '~1~memory', visible_to = '{~}'")
        assert await store.lexical.search(generation, ["text"], 5, Filters(agent="x")) == []
        assert await store.vectors.search(generation, vectors("text").pooled, 5, Filters(agent="x")) == []
        assert await store.documents.get("memory", "a.md") is None
        assert (await store.documents.delta("", limit=9, repo=None, agent="x"))[0] == []
        assert await store.repos.list() == []
        assert await store.stats.repos(None) == []
        assert await store.generations.documents_missing(generation, 9) == []
        with pytest.raises(RetryLater):
            await write(store, repo, generation, "a.md", "late", seq=2)
        new = await add_repo(store)
        assert await write(store, new, generation, "a.md", "text", seq=1) is Outcome.WRITTEN
        while await store.repos.drop_removed():
            pass
        assert len(await store.lexical.search(generation, ["text"], 5, Filters(agent="x"))) == 1
    finally:
        await hold.close()
    assert await faults(postgres) == {}


async def test_who_may_not_read_a_repo_sees_nothing_of_it(store: Store) -> None:
    await add_repo(store)
    secret = await add_repo(store, "secret", visible_to=("me",))
    generation = await add_generation(store)
    await write(store, secret, generation, "a.md", "text")
    for agent, count in (("me", 1), ("you", 0), ("", 0)):
        assert len(await store.lexical.search(generation, ["text"], 5, Filters(agent=agent))) == count
        found = await store.vectors.search(generation, vectors("text").pooled, 5, Filters(agent=agent))
        assert len(found) == count
        assert len((await store.documents.delta("", limit=9, repo=None, agent=agent))[0]) == count
        assert len((await store.documents.delta("", limit=9, repo="secret", agent=agent))[0]) == count
