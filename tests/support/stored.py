"""Documents to store in tests: small ones with vectors and postings that are easy to reason about."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import numpy as np

from recalld.model import (
    ChunkDraft,
    ChunkVectors,
    ChunkWrite,
    FileStat,
    Operation,
    ParsedDocument,
    Position,
    Postings,
    Repo,
    Snapshot,
)
from recalld.store import DocumentWrite, Outcome, Store, StoredDocument

AT = datetime(2026, 1, 2, tzinfo=UTC)
DIMENSION = 16


def sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def vectors(text: str) -> ChunkVectors:
    """A direction of its own for each text."""
    rng = np.random.default_rng(int(sha(text)[:8], 16))
    pooled = rng.standard_normal(DIMENSION).astype(np.float32)
    bits = np.packbits(rng.standard_normal((3, DIMENSION)) > 0, axis=1)
    return ChunkVectors(pooled / np.linalg.norm(pooled), bits)


def postings(text: str) -> Postings:
    words = text.lower().split()
    return Postings(Counter(words), float(len(words)))


def chunk(text: str, ordinal: int, *, unchanged: bool = False) -> ChunkWrite:
    draft = ChunkDraft(ordinal, text, text, ("H",), (ordinal + 1, ordinal + 1), sha(text), len(text.split()))
    return ChunkWrite(draft, None, None) if unchanged else ChunkWrite(draft, postings(text), vectors(text))


def snapshot(path: str, text: str, operation: Operation = Operation.UPSERT) -> Snapshot:
    stat = FileStat(len(text), 1_700_000_000_000_000_000, 1_700_000_000_000_000_000, 7)
    return Snapshot("memory", path, operation, sha(text), stat, text.encode(), agent="watcher", observed_at=AT)


async def add_repo(store: Store, name: str = "memory", visible_to: tuple[str, ...] = ()) -> Repo:
    return await store.repos.add(Repo(name, f"/srv/{name}", "node", visible_to=visible_to), by="tester", at=AT)


async def add_generation(store: Store, name: str = "one") -> int:
    made = await store.generations.ensure(name, embedder="test", embedder_fingerprint="space", dimension=DIMENSION)
    return made.id


def reread(document: StoredDocument) -> ParsedDocument:
    """What the parser says of a stored document, read a second time."""
    return ParsedDocument(document.path, document.title, document.kind, document.text, ())


def document_write(
    repo: Repo, path: str, chunks: Mapping[int, Sequence[ChunkWrite]], *, text: str = "", seq: int = 1
) -> DocumentWrite:
    """A document with chunks of one's own choice for each generation."""
    parsed = ParsedDocument(path, path, "document", text, ())
    return DocumentWrite(repo.id, snapshot(path, text), Position(1, seq), parsed, chunks, AT)


async def write(
    store: Store,
    repo: Repo,
    generation: int,
    path: str,
    *passages: str,
    seq: int = 1,
    epoch: int = 1,
    unchanged: tuple[str, ...] = (),
    kind: str = "document",
    tags: tuple[str, ...] = (),
) -> Outcome:
    """Store a document whose chunks are ``passages``, one a line."""
    text = "\n".join(passages)
    parsed = ParsedDocument(path, path, kind, text, (), tags=tags)
    chunks = [chunk(passage, number, unchanged=passage in unchanged) for number, passage in enumerate(passages)]
    return await store.documents.write(
        DocumentWrite(repo.id, snapshot(path, text), Position(epoch, seq), parsed, {generation: chunks}, AT)
    )
