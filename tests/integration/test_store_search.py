"""The search legs: BM25 by the book, exact cosine, filters inside each leg, and an HNSW index that finds the same."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace

import numpy as np
import pytest

from recalld.errors import UsageError
from recalld.model import ChunkVectors, Filters, Position
from recalld.store import Store
from recalld.store.filters import glob_to_regex
from recalld.store.lexical import K1, B
from recalld.store.vectors import Vectors
from tests.support.stored import AT, DIMENSION, add_generation, add_repo, chunk, document_write, vectors, write

TEXTS = ("red fox red dog", "blue fox", "green green green green frog", "red frog jumps over a fox", "nothing here")


@pytest.fixture
async def store(postgres: str) -> AsyncIterator[Store]:
    opened = await Store.open(postgres)
    yield opened
    await opened.aclose()


def bm25(query: list[str], texts: tuple[str, ...]) -> dict[str, float]:
    """Okapi BM25 as it stands in the book."""
    words = [text.split() for text in texts]
    mean = sum(map(len, words)) / len(words)
    scores = {}
    for text, counted in zip(texts, map(Counter, words), strict=True):
        score = 0.0
        for term in query:
            df = sum(term in row for row in words)
            if df and counted[term]:
                idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
                tf = counted[term]
                score += idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * counted.total() / mean))
        if score:
            scores[text] = score
    return scores


async def test_bm25_is_bm25(store: Store) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    for number, text in enumerate(TEXTS):
        await write(store, repo, generation, f"{number}.md", text, seq=number + 1)
    query = ["red", "frog", "unheard"]
    found = await store.lexical.search(generation, query, 10, Filters())
    texts = {chunk.id: chunk.text for chunk in await store.chunks.fetch([id_ for id_, _ in found])}
    expected = bm25(query, TEXTS)
    assert {texts[id_] for id_, _ in found} == set(expected)
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
    for id_, score in found:
        assert score == pytest.approx(expected[texts[id_]], rel=1e-4)


async def test_cosine_is_exact(store: Store) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    for number, text in enumerate(TEXTS):
        await write(store, repo, generation, f"{number}.md", text, seq=number + 1)
    query = vectors("something else").pooled
    found = await store.vectors.search(generation, query, 3, Filters())
    texts = {chunk.id: chunk.text for chunk in await store.chunks.fetch([id_ for id_, _ in found])}
    expected = sorted(((float(vectors(text).pooled @ query), text) for text in TEXTS), reverse=True)[:3]
    assert [texts[id_] for id_, _ in found] == [text for _, text in expected]
    for (_, cosine), (wanted, _) in zip(found, expected, strict=True):
        assert cosine == pytest.approx(wanted, abs=2e-3)


async def test_bits_and_vectors_come_back_as_they_went_in(store: Store) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    await write(store, repo, generation, "a.md", "red fox")
    ((id_, _),) = await store.lexical.search(generation, ["fox"], 1, Filters())
    made = vectors("red fox")
    assert np.array_equal((await store.vectors.bits([id_]))[id_], made.bits)
    for text in ("red fox", "grey wolf"):
        other = vectors(text).pooled
        cosines = await store.vectors.cosines(other, [id_, id_ + 1])
        assert cosines == {id_: pytest.approx(float(made.pooled @ other), abs=2e-3)}
    assert await store.vectors.bits([id_ + 1]) == {}


async def test_filters_hold_in_both_legs(store: Store) -> None:
    generation = await add_generation(store)
    repo, private = await add_repo(store), await add_repo(store, "private", visible_to=("alice",))
    await write(store, repo, generation, "docs/adr/1.md", "fox one", kind="adr", tags=("x", "y"))
    await write(store, repo, generation, "notes/2.txt", "fox two", kind="document")
    await write(store, private, generation, "3.md", "fox three")

    async def paths(**filters: object) -> set[str]:
        narrowed = Filters(**filters)  # type: ignore[arg-type]
        lexical = await store.lexical.search(generation, ["fox"], 10, narrowed)
        dense = await store.vectors.search(generation, vectors("fox").pooled, 10, narrowed)
        assert {id_ for id_, _ in lexical} == {id_ for id_, _ in dense}
        return {chunk.path for chunk in await store.chunks.fetch([id_ for id_, _ in lexical])}

    assert await paths() == {"docs/adr/1.md", "notes/2.txt"}
    assert await paths(agent="alice") == {"docs/adr/1.md", "notes/2.txt", "3.md"}
    assert await paths(agent="alice", repos=("private",)) == {"3.md"}
    assert await paths(kinds=("adr",)) == {"docs/adr/1.md"}
    assert await paths(tags=("y", "z")) == {"docs/adr/1.md"}
    assert await paths(path="docs/**") == {"docs/adr/1.md"}
    assert await paths(path="*.txt") == {"notes/2.txt"}
    assert await paths(since=AT) == set()
    assert await paths(until=AT) == {"docs/adr/1.md", "notes/2.txt"}


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("*.md", "a/b/c.md", True),
        ("docs/*.md", "docs/a.md", True),
        ("docs/*.md", "docs/a/b.md", False),
        ("docs/**/*.md", "docs/b.md", True),
        ("docs/", "docs/a/b.md", True),
        ("a?c.md", "abc.md", True),
        ("[!a]*.md", "b.md", True),
        ("a+(b).md", "a+(b).md", True),
        ("a.md", "axmd", False),
        ("[!]", "[!]", True),
        ("[!]", "a", False),
        ("[]a].md", "].md", True),
        ("[!]a].md", "b.md", True),
        ("[!]a].md", "].md", False),
        ("a[b-d-f].md", "a-.md", True),
        ("a[b-d-f].md", "ae.md", False),
        ("a[^b].md", "ab.md", True),
        ("[[:alpha:]].md", ":].md", True),
        ("[\\].md", "\\.md", True),
        ("[abc*", "[abcd", True),
        ("docs[/]a.md", "docs/a.md", True),
        ("docs[!x]a.md", "docs/a.md", False),
        ("\\d.md", "1.md", False),
        ("(", "(", True),
        ("*" * 500 + "z", "a" * 200, False),
        ("[*" * 500, "a", False),
    ],
)
async def test_globs(store: Store, glob: str, path: str, matches: bool) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    await write(store, repo, generation, path, "fox")
    found = await store.lexical.search(generation, ["fox"], 1, Filters(path=glob))
    assert bool(found) is matches, glob_to_regex(glob)


@pytest.mark.parametrize("glob", ["[z-a]", "a/[0-9b-a].md", "[!9-0]"])
def test_a_backwards_range_is_the_callers_fault(glob: str) -> None:
    with pytest.raises(UsageError, match="runs backwards"):
        glob_to_regex(glob)


async def test_above_a_size_an_index_finds_the_same(store: Store, postgres: str) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    for number in range(20):
        await write(
            store, repo, generation, f"{number}.md", *(f"{number} {line}" for line in range(50)), seq=number + 1
        )
    from recalld.store.database import Database

    database = await Database.open(postgres, None, 2, 30)
    try:
        indexed = Vectors(database, exact_up_to=100)
        await indexed.tend()
        hits = total = 0
        for number in range(20):
            query = vectors(f"query {number}").pooled
            exact = {id_ for id_, _ in await store.vectors.search(generation, query, 10, Filters())}
            found = {id_ for id_, _ in await indexed.search(generation, query, 10, Filters())}
            narrow = await indexed.search(generation, query, 10, Filters(path="7.md"))
            assert len(narrow) == 10
            hits += len(exact & found)
            total += len(exact)
        assert hits / total >= 0.95
        await add_generation(store, "next")
        for path in range(20):
            await store.documents.delete(repo.id, f"{path}.md", Position(1, 99), at=AT)
        await store.generations.switch(await add_generation(store, "next"))
        while await store.generations.drop_retired():
            pass
        await indexed.tend()
        async with database.session() as connection:
            assert await connection.fetchval("SELECT to_regclass('chunk_vector_hnsw_1')") is None
            assert await connection.fetchval("SHOW statement_timeout") == "30s"
    finally:
        await database.aclose()


async def test_a_chunk_that_is_gone_is_left_out(store: Store) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    await write(store, repo, generation, "a.md", "red fox")
    ((id_, _),) = await store.lexical.search(generation, ["fox"], 1, Filters())
    await store.documents.delete(repo.id, "a.md", Position(1, 2), at=AT)
    assert await store.chunks.fetch([id_]) == []
    assert await store.chunks.owners([id_]) == {}
    assert await store.vectors.search(generation, vectors("red fox").pooled, 5, Filters()) == []
    assert len(vectors("x").pooled) == DIMENSION


@pytest.mark.parametrize("dimension", [12, 4_096])
async def test_vectors_of_any_size_are_kept_and_found(store: Store, dimension: int) -> None:
    repo = await add_repo(store)
    made = await store.generations.ensure("x", embedder="x", embedder_fingerprint="x", dimension=dimension)
    rng = np.random.default_rng(1)
    pooled = rng.standard_normal((3, dimension)).astype(np.float32)
    pooled /= np.linalg.norm(pooled, axis=1, keepdims=True)
    bits = np.packbits(rng.standard_normal((5, dimension)) > 0, axis=1)
    chunks = [
        replace(chunk(f"text {number}", number), vectors=ChunkVectors(pooled[number], bits)) for number in range(3)
    ]
    await store.documents.write(document_write(repo, "a.md", {made.id: chunks}))
    (best, cosine), *_ = await store.vectors.search(made.id, pooled[1], 3, Filters())
    (found,) = await store.chunks.fetch([best])
    assert (found.text, round(cosine, 2)) == ("text 1", 1.0)
    assert np.array_equal((await store.vectors.bits([best]))[best], bits)
    assert (await store.vectors.cosines(pooled[0], [best]))[best] == pytest.approx(pooled[1] @ pooled[0], abs=2e-3)
    hashes = [item.draft.hash for item in chunks]
    kept = (await store.cache.get("x", hashes))[hashes[0]]
    assert kept.bits is not None
    assert np.array_equal(kept.bits, bits)
    await Vectors(store._database, exact_up_to=1).tend()
