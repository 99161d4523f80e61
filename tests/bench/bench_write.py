"""Writing documents: chunks a second through one connection, everything included, and what a small save costs."""

from __future__ import annotations

import random
import time

import numpy as np

from recalld.embedded.postgres import EmbeddedPostgres
from recalld.model import ChunkDraft, ChunkVectors, ChunkWrite, ParsedDocument, Position, Postings
from recalld.store import DocumentWrite, Store
from recalld.store.migrate import migrate
from tests.bench.figure import Figure, median, quantile, report
from tests.support.directories import short_directory
from tests.support.stored import AT, add_repo, sha, snapshot

CHUNKS = 20_000
A_DOCUMENT = 4
TERMS = 100
DIMENSION = 384
TOKENS = 130
SAVES = 100


async def measure() -> list[Figure]:
    """Fill a fresh Postgres with 20,000 chunks, then save documents again with one chunk of four changed."""
    rng = random.Random(5)
    with short_directory() as directory:
        async with await EmbeddedPostgres.start(directory) as server:
            await migrate(server.dsn)
            store = await Store.open(server.dsn)
            try:
                repo = await add_repo(store)
                made = await store.generations.ensure(
                    "bench", embedder="bench", embedder_fingerprint="bench", dimension=DIMENSION
                )
                spent = 0.0
                for number in range(CHUNKS // A_DOCUMENT):
                    chunks = [_chunk(rng, number, ordinal, 0) for ordinal in range(A_DOCUMENT)]
                    spent += await _timed(store, repo.id, number, 1, made.id, chunks)
                saves = []
                for number in rng.sample(range(CHUNKS // A_DOCUMENT), SAVES):
                    kept = [ChunkWrite(_draft(number, ordinal, 0), None, None) for ordinal in range(A_DOCUMENT - 1)]
                    chunks = [*kept, _chunk(rng, number, A_DOCUMENT - 1, 1)]
                    saves.append(1e3 * await _timed(store, repo.id, number, 2, made.id, chunks))
                taken = await store.stats.database_bytes() / 2**10 / CHUNKS
            finally:
                await store.aclose()
    rate = CHUNKS / spent
    what = f"chunks of {TERMS} postings and {TOKENS} token signs"
    return [
        Figure(f"writing {CHUNKS} {what}, one connection", rate, "chunks/s", "", ">= 400", rate >= 400),
        Figure("saving a document again, one chunk of four changed", median(saves), "ms p50"),
        Figure("saving a document again, one chunk of four changed", quantile(saves, 0.99), "ms p99"),
        Figure("database, a chunk", taken, "KB"),
    ]


async def _timed(store: Store, repo_id: int, number: int, seq: int, generation: int, chunks: list[ChunkWrite]) -> float:
    path = f"d{number % 50}/{number}.md"
    text = "\n".join(chunk.draft.text for chunk in chunks)
    parsed = ParsedDocument(path, path, "document", text, ())
    write = DocumentWrite(repo_id, snapshot(path, text), Position(1, seq), parsed, {generation: chunks}, AT)
    begun = time.perf_counter()
    await store.documents.write(write)
    return time.perf_counter() - begun


def _draft(number: int, ordinal: int, version: int) -> ChunkDraft:
    text = f"memo {number} part {ordinal} version {version} " * 20
    return ChunkDraft(ordinal, text, text, ("Heading",), (ordinal + 1, ordinal + 1), sha(text), TOKENS)


def _chunk(rng: random.Random, number: int, ordinal: int, version: int) -> ChunkWrite:
    """A chunk whose words are as unevenly spread as those of a language."""
    words = {f"w{min(int(rng.paretovariate(0.8)), 200_000)}": 1.0 + rng.random() for _ in range(2 * TERMS)}
    while len(words) < TERMS:
        words[f"w{rng.randrange(200_000)}"] = 1.0
    noise = np.random.default_rng(rng.randrange(1 << 30))
    pooled = noise.standard_normal(DIMENSION).astype(np.float32)
    vectors = ChunkVectors(
        pooled / np.linalg.norm(pooled), noise.integers(0, 256, (TOKENS, DIMENSION // 8), dtype=np.uint8)
    )
    postings = Postings(dict(list(words.items())[:TERMS]), 120.0)
    return ChunkWrite(_draft(number, ordinal, version), postings, vectors)


if __name__ == "__main__":
    report(measure)
