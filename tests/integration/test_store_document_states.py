"""What a document's row says after each kind of event, and what it goes on holding."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import asyncpg
import pytest

from recalld.model import DocumentState, Edge, Filters, ManifestEntry, Position, Repo
from recalld.store import Outcome, Store
from tests.support.integrity import faults
from tests.support.stored import AT, add_generation, add_repo, chunk, document_write, sha, snapshot, write

LATER = AT + timedelta(days=1)


@pytest.fixture
async def store(postgres: str) -> AsyncIterator[Store]:
    opened = await Store.open(postgres)
    yield opened
    await opened.aclose()


async def entry(store: Store, repo: Repo, path: str = "a.md") -> ManifestEntry:
    (found,) = await store.documents.manifest_of(repo.id, [path, "unknown.md"])
    return found


async def test_a_redelivery_writes_the_same_again(store: Store, postgres: str) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    for _ in range(2):
        assert await write(store, repo, generation, "a.md", "one", "two", seq=3) is Outcome.WRITTEN
    assert len(await store.lexical.search(generation, ["one", "two"], 9, Filters())) == 2
    assert await faults(postgres) == {}


async def test_a_redelivered_deletion_and_skip_change_nothing_more(store: Store) -> None:
    repo = await add_repo(store)
    for _ in range(2):
        assert await store.documents.delete(repo.id, "a.md", Position(1, 3), at=AT) is Outcome.WRITTEN
    assert (await entry(store, repo)).state is DocumentState.DELETED
    seen = replace(snapshot("a.md", "x"), skip="too_large")
    for _ in range(2):
        assert await store.documents.skip(repo.id, seen, Position(1, 4), at=AT) is Outcome.WRITTEN
    found = await entry(store, repo)
    assert (found.state, found.content_hash, found.stat) == (DocumentState.SKIPPED, sha("x"), seen.stat)


async def test_a_skipped_file_is_no_longer_found(store: Store, postgres: str) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    await write(store, repo, generation, "a.md", "text", seq=1)
    await store.documents.skip(repo.id, snapshot("a.md", "x"), Position(1, 2), at=AT)
    assert await store.documents.get("memory", "a.md") is None
    assert await store.lexical.search(generation, ["text"], 9, Filters()) == []
    assert await faults(postgres) == {}


async def test_a_position_that_was_indexed_has_not_failed(store: Store) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    await write(store, repo, generation, "a.md", "text", seq=2)
    seen = snapshot("a.md", "text")
    assert await store.documents.fail(repo.id, seen, Position(1, 2), "lost ack", at=AT) is Outcome.STALE
    assert (await entry(store, repo)).state is DocumentState.INDEXED
    assert await store.documents.fail(repo.id, seen, Position(1, 3), "broken", at=AT) is Outcome.WRITTEN
    assert (await entry(store, repo)).state is DocumentState.FAILED
    assert await write(store, repo, generation, "a.md", "mended", seq=4) is Outcome.WRITTEN
    assert (await store.stats.totals()).failed == 0


async def test_a_forgotten_file_is_seen_but_not_read(store: Store, postgres: str) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    await write(store, repo, generation, "a.md", "secret", seq=1)
    assert await store.documents.forget(repo.id, "a.md", by="me", at=AT) == 1
    assert await store.documents.forget(repo.id, "never.md", by="me", at=AT) == 0
    events = [
        lambda position: write(store, repo, generation, "a.md", "saved", seq=position.seq),
        lambda position: store.documents.fail(repo.id, snapshot("a.md", "bad"), position, "broken", at=AT),
        lambda position: store.documents.skip(repo.id, snapshot("a.md", "big"), position, at=AT),
        lambda position: store.documents.delete(repo.id, "a.md", position, at=AT),
    ]
    for seq, event in enumerate(events, 2):
        assert await event(Position(1, seq)) is Outcome.FORGOTTEN
        found = await entry(store, repo)
        assert (found.state, found.position.seq) == (DocumentState.FORGOTTEN, seq)
    connection = await asyncpg.connect(postgres)
    try:
        row = await connection.fetchrow("SELECT * FROM document")
        assert row is not None
        assert (row["reason"], row["text"], row["title"]) == ("forgotten by me", None, "")
    finally:
        await connection.close()
    assert await faults(postgres) == {}


async def test_letting_it_in_again_needs_it_to_be_looked_at(store: Store) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    await write(store, repo, generation, "a.md", "text", seq=1)
    assert not await store.documents.unforget(repo.id, "a.md", by="me", at=AT)
    assert not await store.documents.unforget(repo.id, "never.md", by="me", at=AT)
    await store.documents.forget(repo.id, "a.md", by="me", at=AT)
    assert await store.documents.unforget(repo.id, "a.md", by="me", at=AT)
    assert (await entry(store, repo)).state is DocumentState.DELETED
    assert await write(store, repo, generation, "a.md", "text", seq=1) is Outcome.WRITTEN


async def test_what_was_known_first_is_remembered_through_a_deletion(store: Store) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    one = document_write(repo, "a.md", {generation: [chunk("text", 0)]}, seq=1)
    await store.documents.write(one)
    await store.documents.delete(repo.id, "a.md", Position(1, 2), at=AT)
    await store.documents.write(replace(one, position=Position(1, 3), at=LATER))
    document = await store.documents.get("memory", "a.md")
    assert document is not None
    assert (document.first_indexed_at, document.indexed_at) == (AT, LATER)
    assert (await store.stats.totals()).newest_indexed_at == LATER


async def test_edges_are_replaced_as_a_whole(store: Store) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    one = document_write(repo, "a.md", {generation: []}, seq=1)
    edges = (Edge("supersedes", "old.md", "key", "supersedes", 2), Edge("link", "b.md", "link"))
    await store.documents.write(replace(one, parsed=replace(one.parsed, edges=edges)))
    document = await store.documents.get("memory", "a.md")
    assert document is not None
    assert document.edges == edges
    await store.documents.write(replace(one, position=Position(1, 2), parsed=replace(one.parsed, edges=edges[:1])))
    document = await store.documents.get("memory", "a.md")
    assert document is not None
    assert document.edges == edges[:1]


async def test_a_document_of_very_many_chunks(store: Store, postgres: str) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    passages = [f"passage {number}" for number in range(1_000)]
    await write(store, repo, generation, "a.md", *passages, seq=1)
    assert len(await store.lexical.search(generation, ["passage"], 2_000, Filters())) == 1_000
    await write(store, repo, generation, "a.md", *passages[:3], seq=2, unchanged=tuple(passages))
    document = await store.documents.get("memory", "a.md")
    assert document is not None
    assert [part.lines for part in document.chunks] == [(1, 1), (2, 2), (3, 3)]
    assert await store.cache.count() == 997
    assert await faults(postgres) == {}


async def test_a_chunk_leads_to_its_document(store: Store) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    await write(store, repo, generation, "a.md", "one", "two")
    document = await store.documents.get("memory", "a.md")
    assert document is not None
    assert await store.documents.of_chunk(document.chunks[1].id) == document
    assert await store.documents.known(generation, [(repo.id, "a.md")]) == [{sha("one"), sha("two")}]
    assert await store.documents.known(generation + 1, [(repo.id, "a.md")]) == [set()]
    for unknown in (0, 10**9, 1 << 62, 1 << 63, 1 << 200):
        assert await store.documents.of_chunk(unknown) is None


async def test_old_tombstones_go_and_nothing_else(store: Store) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    await write(store, repo, generation, "kept.md", "text", seq=1)
    await write(store, repo, generation, "forgotten.md", "text", seq=2)
    await store.documents.forget(repo.id, "forgotten.md", by="me", at=AT)
    await store.documents.delete(repo.id, "old.md", Position(1, 3), at=AT)
    await store.documents.delete(repo.id, "new.md", Position(1, 4), at=LATER)
    assert await store.documents.prune_tombstones(LATER) == 1
    left = [found.path for found in await store.documents.manifest(repo.id, after=None, limit=9)]
    assert left == ["forgotten.md", "kept.md", "new.md"]


async def test_the_same_path_in_two_repos_is_two_documents(store: Store) -> None:
    one, two, generation = await add_repo(store), await add_repo(store, "two"), await add_generation(store)
    await write(store, one, generation, "a.md", "same text", seq=9)
    await write(store, two, generation, "a.md", "same text", seq=1)
    await store.documents.delete(one.id, "a.md", Position(1, 10), at=AT)
    assert await store.documents.get("memory", "a.md") is None
    assert await store.documents.get("two", "a.md") is not None
    (row,) = await store.stats.repos("two")
    assert (row.documents, row.chunks) == (1, 1)
