"""What retrieval finds, by mode: PEPs and a product's documentation by document, long texts by passage.

Documents are indexed by the real worker into the real store, and asked through the retriever with the default settings;
only the bus is left out. Settings were chosen on the questions marked ``tune``; ``held`` are those that had no say.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from recalld.embed.factory import make_embedder
from recalld.embed.protocol import Embedder
from recalld.embedded.postgres import EmbeddedPostgres
from recalld.ingest.chunk_policy import ChunkPolicy
from recalld.model import Filters, Mode, RankedChunk
from recalld.recall.retrieve import Retriever
from recalld.settings import EmbedSettings, IngestSettings, default_cache_dir
from recalld.store.migrate import migrate
from tests.bench.corpora import DATA, Corpus, Question, docs_qa, passages, peps
from tests.bench.figure import Figure, report
from tests.support.directories import short_directory
from tests.support.indexing import Index, an_index
from tests.support.postgres import FAST, fresh_database

DEPTH = 20
"""Hits asked for, in which the first relevant document is looked for."""
SHOWN = 5
"""Hits that are looked at."""
HIT_BAR, MRR_BAR = 0.82, 0.62


@dataclass(frozen=True, slots=True)
class Judged:
    """One question's outcome: the reciprocal rank of the first relevant document, and whether it is in the first 5."""

    question: Question
    reciprocal: float
    hit: bool
    shown: bool
    """Whether it is among the first 5 hits, where a document may stand twice."""


async def measure() -> list[Figure]:
    """Index the three corpora, each in a database of its own, and ask all questions in every mode."""
    if not (DATA / "peps").is_dir():
        sys.stderr.write(f"skipped: the question sets are not in {DATA}\n")
        return []
    embedder = await make_embedder(EmbedSettings(), default_cache_dir())
    figures: list[Figure] = []
    try:
        with short_directory() as directory:
            async with await EmbeddedPostgres.start(directory, settings=FAST) as server:
                for corpus in (peps(), docs_qa()):
                    async with indexed(server.dsn, embedder, corpus) as index:
                        figures += await _by_document(index, corpus)
                async with indexed(server.dsn, embedder, passages()) as index:
                    figures += await _by_passage(index, passages())
    finally:
        await embedder.aclose()
    return figures


@asynccontextmanager
async def indexed(dsn: str, embedder: Embedder, corpus: Corpus) -> AsyncIterator[Index]:
    """Index a corpus with the default settings, in a database of its own."""
    ingest = IngestSettings()
    policy = ChunkPolicy(ingest.policy, ingest.chunk_tokens, ingest.overlap_tokens)
    async with fresh_database(dsn, None) as database:
        await migrate(database)
        async with an_index(database, embedder, policy) as index:
            await index.add(corpus.documents)
            yield index


async def _by_document(index: Index, corpus: Corpus) -> list[Figure]:
    figures = []
    for mode in Mode:
        judged = [await _judge(index.retriever(), index, question, mode) for question in corpus.questions]
        hit, reciprocal = _mean([j.hit for j in judged]), _mean([j.reciprocal for j in judged])
        bars = (HIT_BAR, MRR_BAR) if corpus.name == "peps" and mode is Mode.RERANK else None
        figures += [
            _figure(
                f"{corpus.name}, {mode}: hit@{SHOWN} by document",
                hit,
                [j.hit for j in judged],
                judged,
                bars and bars[0],
            ),
            _figure(
                f"{corpus.name}, {mode}: MRR", reciprocal, [j.reciprocal for j in judged], judged, bars and bars[1]
            ),
        ]
    return figures


async def _judge(retriever: Retriever, index: Index, question: Question, mode: Mode) -> Judged:
    found = await retriever.retrieve(question.text, DEPTH, mode, Filters(), index.generation.id)
    paths = [hit.chunk.path for hit in found.chunks]
    documents = list(dict.fromkeys(paths))
    rank = next((place for place, path in enumerate(documents, start=1) if path in question.gold), None)
    return Judged(
        question, 1 / rank if rank else 0.0, bool(rank and rank <= SHOWN), bool(question.gold & set(paths[:SHOWN]))
    )


def _figure(what: str, value: float, values: Sequence[float], judged: Sequence[Judged], bar: float | None) -> Figure:
    halves = ", ".join(
        f"{half} {_mean([v for v, j in zip(values, judged, strict=True) if j.question.half == half]):.3f}"
        for half in ("tune", "held")
    )
    aside = f"{halves} of {len(judged)} questions; in the first {SHOWN} hits {_mean([j.shown for j in judged]):.3f}"
    return Figure(what, value, "", aside, f">= {bar}" if bar else "", value >= bar if bar else None)


async def _by_passage(index: Index, corpus: Corpus) -> list[Figure]:
    """Tell which share of the characters that answer a question the first hits show."""
    texts = {path: content.decode() for path, content in corpus.documents.items()}
    figures = []
    for mode in Mode:
        shares = []
        for question in corpus.questions:
            found = await index.retriever().retrieve(question.text, SHOWN, mode, Filters(), index.generation.id)
            shares.append(_covered(question, found.chunks, texts))
        share = _mean(shares)
        note = f"{len(shares)} questions; nothing found for {_mean([not share for share in shares]):.3f}"
        figures.append(Figure(f"passages, {mode}: share of the answer's characters in {SHOWN} hits", share, "", note))
    return figures


def _covered(question: Question, hits: Sequence[RankedChunk], texts: dict[str, str]) -> float:
    shown: set[int] = set()
    for hit in hits:
        if hit.chunk.path in question.gold:
            shown.update(_place(hit, texts[hit.chunk.path]))
    wanted = set(itertools.chain.from_iterable(range(start, end) for start, end in question.spans))
    return len(wanted & shown) / len(wanted)


def _place(hit: RankedChunk, text: str) -> range:
    """Return the characters of the document that a hit shows: of a long line only its part."""
    line = sum(len(above) + 1 for above in text.split("\n")[: hit.chunk.lines[0] - 1])
    start = text.index(hit.chunk.text, line)
    return range(start, start + len(hit.chunk.text))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


if __name__ == "__main__":
    report(measure)
