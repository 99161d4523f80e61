"""BM25 over the postings against ``ts_rank_cd`` with an OR query: the same chunks, queries and server."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import asyncpg

from recalld.analyze import Analyzer
from recalld.embedded.postgres import EmbeddedPostgres
from recalld.model import ChunkDraft, ChunkVectors, ChunkWrite, Filters, ParsedDocument, Position
from recalld.store import DocumentWrite, Store
from recalld.store.migrate import migrate
from tests.bench.corpora import DATA
from tests.bench.figure import Figure, median, report
from tests.support.directories import short_directory
from tests.support.stored import AT, add_generation, add_repo, sha, snapshot, vectors

CHUNKS = 50_000
DOCUMENT = 50
QUERIES = 60
WORDS = 80
K = 50


async def measure() -> list[Figure]:
    """Fill a fresh Postgres with 50,000 chunks and ask both ways, in turns."""
    texts = passages()
    with short_directory() as directory:
        async with await EmbeddedPostgres.start(directory) as server:
            await migrate(server.dsn)
            store = await Store.open(server.dsn)
            try:
                generation, rate = await _fill(store, texts)
                connection = await asyncpg.connect(server.dsn)
                try:
                    await _fill_tsvector(connection)
                    return [
                        *await _compare(store, connection, generation, "mid-frequency words", queries(texts, 30, 600)),
                        *await _compare(store, connection, generation, "common words", queries(texts, 600, 12_000)),
                        *await _compare(store, connection, generation, "sentences", sentences(texts)),
                        Figure("writing chunks, one connection, vectors included", rate, "chunks/s"),
                    ]
                finally:
                    await connection.close()
            finally:
                await store.aclose()


def passages() -> list[str]:
    """Return 50,000 different passages: windows over public notes, or words by Zipf's law where those are absent."""
    rng = random.Random(7)
    files = sorted((DATA / "mem-til").rglob("*.md")) + sorted((DATA / "peps" / "docs").glob("*.md"))
    words = [word for path in files for word in path.read_text("utf-8", "replace").split()]
    if not words:
        words = [f"w{int(rng.paretovariate(0.9))}x" for _ in range(2_000_000)]
    starts = [rng.randrange(len(words) - WORDS) for _ in range(CHUNKS)]
    return [" ".join(words[start : start + WORDS]) for start in starts]


def queries(texts: Sequence[str], least: int, most: int) -> list[str]:
    """Return queries of four words, each of which ``least`` to ``most`` of the passages hold."""
    counts: dict[str, int] = {}
    for text in texts:
        for word in {word for word in text.lower().split() if word.isalpha() and len(word) > 3}:
            counts[word] = counts.get(word, 0) + 1
    pool = sorted(word for word, count in counts.items() if least <= count <= most)
    rng = random.Random(11)
    return [" ".join(rng.sample(pool, 4)) for _ in range(QUERIES)]


def sentences(texts: Sequence[str]) -> list[str]:
    """Return queries of ten words as they follow each other in a passage."""
    rng = random.Random(13)
    return [" ".join(rng.choice(texts).split()[20:30]) for _ in range(QUERIES)]


async def _fill(store: Store, texts: Sequence[str]) -> tuple[int, float]:
    analyzer = Analyzer()
    repo, generation = await add_repo(store), await add_generation(store)
    rate: list[float] = []
    for number in range(0, len(texts), DOCUMENT):
        part = texts[number : number + DOCUMENT]
        chunks = [_chunk(analyzer, text, ordinal, vectors(str(number % 500))) for ordinal, text in enumerate(part)]
        path = f"{number}.md"
        parsed = ParsedDocument(path, path, "document", "", ())
        write = DocumentWrite(
            repo.id, snapshot(path, str(number)), Position(1, number), parsed, {generation: chunks}, AT
        )
        begun = time.perf_counter()
        await store.documents.write(write)
        rate.append(len(part) / (time.perf_counter() - begun))
    return generation, median(rate)


def _chunk(analyzer: Analyzer, text: str, ordinal: int, made: ChunkVectors) -> ChunkWrite:
    draft = ChunkDraft(ordinal, text, text, (), (1, 1), sha(text), WORDS)
    return ChunkWrite(draft, analyzer.document("", "", (), text), made)


async def _fill_tsvector(connection: asyncpg.Connection) -> None:
    await connection.execute("CREATE TABLE baseline AS SELECT id, to_tsvector('english', text) AS words FROM chunk")
    await connection.execute("CREATE INDEX ON baseline USING gin (words)")
    await connection.execute("VACUUM ANALYZE baseline")
    await connection.execute("VACUUM ANALYZE posting")


async def _compare(
    store: Store, connection: asyncpg.Connection, generation: int, what: str, asked: Sequence[str]
) -> list[Figure]:
    analyzer = Analyzer()
    ours: list[float] = []
    theirs: list[float] = []
    for query in [*asked[:5], *asked]:
        begun = time.perf_counter()
        await store.lexical.search(generation, analyzer.query(query), K, Filters())
        ours.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        await connection.fetch(
            """
            SELECT b.id, ts_rank_cd(b.words, q) AS rank
            FROM baseline b, (SELECT replace(plainto_tsquery('english', $1)::text, '&', '|')::tsquery AS q) query
            WHERE b.words @@ q ORDER BY rank DESC LIMIT $2
            """,
            query,
            K,
        )
        theirs.append(time.perf_counter() - begun)
    ratio = median(theirs[5:]) / median(ours[5:])
    baseline = f"ours {median(ours[5:]) * 1e3:.2f} ms, ts_rank_cd {median(theirs[5:]) * 1e3:.2f} ms, {CHUNKS} chunks"
    return [Figure(f"lexical leg, {what}: times faster than ts_rank_cd", ratio, "x", baseline, ">= 8", ratio >= 8)]


if __name__ == "__main__":
    report(measure)
