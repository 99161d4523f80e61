"""Generations: built beside, switched when complete, dropped in bites, and never half known."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest

from recalld.errors import RetryLater
from recalld.model import ChunkWrite, Filters, Position
from recalld.store import Outcome, Store, StoredDocument
from tests.support.stored import AT, add_generation, add_repo, chunk, document_write, reread, sha, snapshot, write


@pytest.fixture
async def store(postgres: str) -> AsyncIterator[Store]:
    opened = await Store.open(postgres)
    yield opened
    await opened.aclose()


def cut(document: StoredDocument) -> list[ChunkWrite]:
    return [chunk(line, number) for number, line in enumerate(document.text.split("\n"))]


async def fill(store: Store, generation: int) -> None:
    while missing := await store.generations.documents_missing(generation, 2):
        for document in missing:
            await store.generations.add(generation, document, reread(document), cut(document))


async def serving(store: Store) -> int:
    found = await store.generations.serving()
    assert found is not None
    return found.id


async def states(store: Store) -> dict[int, str]:
    return {row.id: row.state for row in await store.stats.generations()}


async def test_the_first_serves_at_once_and_the_same_is_the_same(store: Store) -> None:
    assert await store.generations.serving() is None
    first = await add_generation(store, "one")
    assert await serving(store) == first
    assert await add_generation(store, "one") == first
    assert await states(store) == {first: "serving"}


async def test_many_daemons_register_the_same_one_at_once(store: Store) -> None:
    found: list[int] = []

    async def one() -> None:
        found.append(await add_generation(store, "one"))

    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(one)
    assert len(set(found)) == 1
    assert await states(store) == {found[0]: "serving"}


async def test_one_is_built_beside_and_switched(store: Store) -> None:
    repo, old = await add_repo(store), await add_generation(store, "old")
    for number in range(5):
        await write(store, repo, old, f"{number}.md", f"text {number}", "and more", seq=number + 1)
    new = await add_generation(store, "new")
    assert await serving(store) == old
    await fill(store, new)
    assert [(row.documents, row.total) for row in await store.stats.generations()] == [(5, 5), (5, 5)]
    assert await store.generations.switch(new)
    assert await states(store) == {old: "retired", new: "serving"}
    while await store.generations.drop_retired():
        pass
    assert await states(store) == {new: "serving"}
    assert await store.lexical.search(old, ["text"], 50, Filters()) == []
    assert len(await store.lexical.search(new, ["text"], 50, Filters())) == 5
    assert [row.chunks for row in await store.stats.repos(None)] == [10]


async def test_one_that_misses_a_document_does_not_take_over(store: Store) -> None:
    repo, old = await add_repo(store), await add_generation(store, "old")
    new = await add_generation(store, "new")
    await write(store, repo, old, "a.md", "text")
    assert not await store.generations.switch(new)
    assert await serving(store) == old
    await fill(store, new)
    assert await store.generations.switch(new)


async def test_a_writer_that_does_not_know_of_it_leaves_the_document_to_be_filled_in(store: Store) -> None:
    repo, old = await add_repo(store), await add_generation(store, "old")
    new = await add_generation(store, "new")
    await write(store, repo, old, "a.md", "text", seq=1)
    await fill(store, new)
    await write(store, repo, old, "a.md", "newer text", seq=2)
    assert [document.text for document in await store.generations.documents_missing(new, 9)] == ["newer text"]
    assert await store.lexical.search(new, ["text"], 5, Filters()) == []


async def test_a_writer_that_missed_the_switch_is_told_to_look_again(store: Store) -> None:
    repo, old = await add_repo(store), await add_generation(store, "old")
    new = await add_generation(store, "new")
    assert await store.generations.switch(new)
    with pytest.raises(RetryLater):
        await write(store, repo, old, "a.md", "text")
    assert await store.documents.get("memory", "a.md") is None


async def test_a_document_goes_into_both_with_one_write(store: Store) -> None:
    repo, old = await add_repo(store), await add_generation(store, "old")
    new = await add_generation(store, "new")
    chunks = {old: [chunk("text", 0)], new: [chunk("text", 0), chunk("other", 1)]}
    assert await store.documents.write(document_write(repo, "a.md", chunks)) is Outcome.WRITTEN
    places = [(repo.id, "a.md"), (repo.id, "b.md")]
    assert await store.documents.known(old, places) == [{sha("text")}, set()]
    assert await store.documents.known(new, places) == [{sha("text"), sha("other")}, set()]
    assert await store.generations.switch(new)


async def test_a_document_that_changed_while_it_was_cut_is_not_added(store: Store) -> None:
    repo, old = await add_repo(store), await add_generation(store, "old")
    new = await add_generation(store, "new")
    await write(store, repo, old, "a.md", "text", seq=1)
    await write(store, repo, old, "b.md", "text", seq=2)
    first, second = await store.generations.documents_missing(new, 9)
    await write(store, repo, old, "a.md", "newer", seq=3)
    await store.documents.delete(repo.id, "b.md", Position(1, 4), at=AT)
    assert not await store.generations.add(new, first, reread(first), cut(first))
    assert not await store.generations.add(new, second, reread(second), cut(second))
    assert [document.text for document in await store.generations.documents_missing(new, 9)] == ["newer"]


async def test_a_document_is_added_once(store: Store) -> None:
    repo, old = await add_repo(store), await add_generation(store, "old")
    new = await add_generation(store, "new")
    await write(store, repo, old, "a.md", "text")
    (document,) = await store.generations.documents_missing(new, 9)
    assert await store.generations.add(new, document, reread(document), cut(document))
    assert not await store.generations.add(new, document, reread(document), cut(document))
    assert len(await store.lexical.search(new, ["text"], 9, Filters())) == 1


async def test_a_document_without_a_chunk_and_one_that_failed_count_as_held(store: Store) -> None:
    repo, old = await add_repo(store), await add_generation(store, "old")
    await store.documents.write(document_write(repo, "empty.md", {old: []}))
    await store.documents.fail(repo.id, snapshot("failed.md", "x"), Position(1, 2), "broken", at=AT)
    new = await add_generation(store, "new")
    (document,) = await store.generations.documents_missing(new, 9)
    assert await store.generations.add(new, document, reread(document), [])
    assert await store.generations.switch(new)


async def test_a_half_dropped_one_that_comes_back_knows_what_it_lacks(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recalld.store.generations._BITE", 2)
    repo, old = await add_repo(store), await add_generation(store, "old")
    for number in range(5):
        await write(store, repo, old, f"{number}.md", f"text {number}", seq=number + 1)
    new = await add_generation(store, "new")
    await fill(store, new)
    await store.generations.switch(new)
    assert await store.generations.drop_retired()
    assert await add_generation(store, "old") == old
    assert len(await store.generations.documents_missing(old, 9)) == 2
    assert len(await store.lexical.search(old, ["text"], 9, Filters())) == 3
    assert not await store.generations.drop_retired()
    await fill(store, old)
    assert await store.generations.switch(old)
    assert len(await store.lexical.search(old, ["text"], 9, Filters())) == 5


async def test_a_newer_one_to_build_retires_the_one_being_built(store: Store) -> None:
    repo, old = await add_repo(store), await add_generation(store, "old")
    second, third = await add_generation(store, "second"), await add_generation(store, "third")
    assert await states(store) == {old: "serving", second: "retired", third: "building"}
    await write(store, repo, old, "a.md", "text")
    (document,) = await store.generations.documents_missing(second, 9)
    with pytest.raises(RetryLater):
        await store.generations.add(second, document, reread(document), cut(document))


async def test_vectors_of_a_dropped_one_are_kept_for_the_next(store: Store) -> None:
    repo, old = await add_repo(store), await add_generation(store, "old")
    await write(store, repo, old, "a.md", "text")
    new = await add_generation(store, "new")
    (document,) = await store.generations.documents_missing(new, 9)
    await store.generations.add(new, document, reread(document), [chunk("other", 0)])
    await store.generations.switch(new)
    while await store.generations.drop_retired():
        pass
    text, other = chunk("text", 0).draft.hash, chunk("other", 0).draft.hash
    assert set(await store.cache.get("space", [text, other])) == {text, other}
