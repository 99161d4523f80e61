"""Names and contents that Postgres cannot hold as they are: they go in, are found, and come back the same."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from recalld.model import Edge, FileStat, Filters, Finding, Operation, ParsedDocument, Position, Severity, Snapshot
from recalld.store import DocumentWrite, Outcome, Store
from tests.support.stored import AT, add_generation, add_repo, chunk, write

ODD_PATHS = [
    os.fsdecode(b"caf\xe9/\xff\xfe.md"),
    "new\nline/tab\there.md",
    'quote"\\{},NULL.md',
    "emoji-😀/\u202ertl.md",
    "private \U0010f7ff\U0010ffff.md",
    "e\u0301 and \u00e9.md",
    "\x7f\x01.md",
]


@pytest.fixture
async def store(postgres: str) -> AsyncIterator[Store]:
    opened = await Store.open(postgres)
    yield opened
    await opened.aclose()


async def test_paths_of_any_bytes_come_back(store: Store) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    for seq, path in enumerate(ODD_PATHS, 1):
        assert await write(store, repo, generation, path, f"text {seq}", seq=seq) is Outcome.WRITTEN
    for path in ODD_PATHS:
        document = await store.documents.get("memory", path)
        assert document is not None
        assert document.path == path
        assert os.fsencode(document.path) == os.fsencode(path)
        (chunk_,) = await store.chunks.fetch([document.chunks[0].id])
        assert chunk_.path == path
    assert {entry.path for entry in await store.documents.manifest_of(repo.id, ODD_PATHS)} == set(ODD_PATHS)
    changes, _, _ = await store.documents.delta("", limit=99, repo=None, agent="x")
    assert [change.path for change in changes] == ODD_PATHS


async def test_the_manifest_is_paged_over_paths_of_any_bytes(store: Store) -> None:
    repo = await add_repo(store)
    for seq, path in enumerate(ODD_PATHS, 1):
        await store.documents.delete(repo.id, path, Position(1, seq), at=AT)
    seen: list[str] = []
    after = None
    while page := await store.documents.manifest(repo.id, after=after, limit=2):
        seen += [entry.path for entry in page]
        after = page[-1].path
    assert sorted(seen) == sorted(ODD_PATHS)


async def test_ordinary_paths_are_in_byte_order(store: Store) -> None:
    repo = await add_repo(store)
    paths = ["b.md", "B.md", "a/z.md", "a-z.md", "ä.md", "zz.md", "😀.md", "\uffee.md"]
    for seq, path in enumerate(paths, 1):
        await store.documents.delete(repo.id, path, Position(1, seq), at=AT)
    manifest = await store.documents.manifest(repo.id, after=None, limit=99)
    assert [entry.path for entry in manifest] == sorted(paths, key=str.encode)


async def test_a_path_of_odd_bytes_can_be_deleted_and_forgotten(store: Store) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    first, second = ODD_PATHS[:2]
    await write(store, repo, generation, first, "one", seq=1)
    await write(store, repo, generation, second, "two", seq=2)
    await store.documents.delete(repo.id, first, Position(1, 3), at=AT)
    assert await store.documents.forget(repo.id, second, by="me", at=AT) == 1
    assert [entry.state for entry in await store.documents.manifest_of(repo.id, [first, second])] == [
        "deleted",
        "forgotten",
    ]


async def test_nul_and_lone_surrogates_in_all_that_a_file_says(store: Store) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    odd = "a\x00b \ud800 \udcff \U0010ffff"
    metadata = {odd: [odd, 1, 1.5, None, {"deep": odd}], "nan": float("nan"), "big": 10**40}
    edges = (Edge(odd, odd, odd, odd, 1), Edge("supersedes", "old", "key"))
    parsed = ParsedDocument(odd, odd, odd, odd, (), (odd,), (odd, 'quoted "tag", {x}'), metadata, edges)
    seen = Snapshot("memory", "odd.md", Operation.UPSERT, "hash", None, commit="abc", agent=odd)
    await store.documents.write(DocumentWrite(repo.id, seen, Position(1, 1), parsed, {generation: [chunk(odd, 0)]}, AT))
    document = await store.documents.get("memory", "odd.md")
    assert document is not None
    assert (document.title, document.kind, document.text, document.agent) == (odd, odd, odd, odd)
    assert (document.aliases, document.tags) == ((odd,), (odd, 'quoted "tag", {x}'))
    assert document.metadata == metadata | {"nan": "nan"}
    assert document.edges == edges
    assert document.commit == "abc"
    (stored,) = await store.chunks.fetch([document.chunks[0].id])
    assert stored.text == odd
    assert stored.metadata == metadata | {"nan": "nan"}
    assert len(await store.lexical.search(generation, ["\ud800"], 5, Filters())) == 1
    assert len(await store.lexical.search(generation, ["\ud800"], 5, Filters(tags=(odd,), kinds=(odd,)))) == 1


async def test_findings_name_files_of_any_bytes(store: Store) -> None:
    await add_repo(store)
    path = ODD_PATHS[0]
    finding = Finding("memory", path, "broken", Severity.ERROR, "NUL \x00 here", key="\udc80")
    await store.findings.replace("memory", path, "ingest", [finding], at=AT)
    (found,) = await store.findings.list(repo="memory", path=path)
    assert (found.path, found.message, found.key) == (path, "NUL \x00 here", "\udc80")


@pytest.mark.parametrize(
    ("mtime_ns", "modified_at"),
    [
        (-1, datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)),
        (1_700_000_000_123_456_789, datetime(2023, 11, 14, 22, 13, 20, 123_456, tzinfo=UTC)),
        (16_725_225_600 * 10**9, datetime(2500, 1, 1, tzinfo=UTC)),
        (10**15 * 10**9, None),
    ],
)
async def test_file_times_of_any_year(store: Store, mtime_ns: int, modified_at: datetime | None) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    stat = FileStat(4, mtime_ns, mtime_ns + 1, 2**64 - 1)
    parsed = ParsedDocument("a.md", "a", "document", "text", ())
    seen = Snapshot("memory", "a.md", Operation.UPSERT, "hash", stat)
    await store.documents.write(DocumentWrite(repo.id, seen, Position(1, 1), parsed, {generation: []}, AT))
    (entry,) = await store.documents.manifest(repo.id, after=None, limit=9)
    assert entry.stat == stat
    document = await store.documents.get("memory", "a.md")
    assert document is not None
    assert document.modified_at == modified_at
