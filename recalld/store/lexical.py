"""The lexical leg: Okapi BM25 over a postings table.

A query reads its terms' postings from one index and nothing else. Document frequencies are counted from the same
postings, so they are exact and no counter is there to fight over. Common terms are read only for the chunks that rarer
terms have found, where it is certain that no other chunk could reach the answer by them alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from recalld.model import Filters
from recalld.store.database import Connection, Database
from recalld.store.filters import OPEN, narrows, where
from recalld.store.terms import term_key

K1 = 1.2
B = 0.75
"""Saturation of term frequency and length normalisation, as in Robertson and Zaragoza (2009), section 3."""
KNOWN_FOR_S = 2.0
"""How long collection totals and document frequencies are taken for current."""
_RARE = 500
"""Terms in at most so many chunks are always read whole."""

_READ = """
    SELECT chunk_id, sum(w.idf * {k} * p.tf / (p.tf + w.base + w.slope * p.length)) AS score
    FROM unnest($1::bigint[], $2::float8[], $3::float8[], $4::float8[]) AS w (term, idf, base, slope)
    CROSS JOIN LATERAL (SELECT chunk_id, tf, length FROM posting WHERE posting.term = w.term {only} OFFSET 0) p
    {join} GROUP BY chunk_id
"""
_JOIN = "JOIN chunk c ON c.id = p.chunk_id JOIN document d ON d.id = c.document_id JOIN repo r ON r.id = d.repo_id"


@dataclass(frozen=True, slots=True)
class Collection:
    """A generation in two numbers: how many chunks, and their mean length."""

    chunks: int
    mean_length: float


@dataclass(frozen=True, slots=True)
class Term:
    """A query term: its key, how many chunks hold it, and its weight."""

    key: int
    df: int
    idf: float

    @property
    def most(self) -> float:
        """The most that this term can add to a chunk's score."""
        return self.idf * (K1 + 1)


class Lexical:
    """Searches postings."""

    def __init__(self, database: Database, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._monotonic = monotonic
        self._collections: dict[int, tuple[float, Collection]] = {}
        self._frequencies: dict[int, tuple[float, int]] = {}

    async def search(
        self, generation_id: int, terms: Sequence[str], k: int, filters: Filters
    ) -> list[tuple[int, float]]:
        """Return at most ``k`` chunks with their BM25 score, best first; equal ones by id."""
        keys = [term_key(generation_id, term) for term in dict.fromkeys(terms)]
        async with self._database.reading() as connection:
            collection = await self._collection(connection, generation_id)
            if not collection.chunks:
                return []
            weighed = await self._weigh(connection, keys, collection)
            narrow = narrows(filters) or not await connection.fetchval(OPEN)
            first, later = divide(weighed)
            scores = await _scores(connection, first, collection, filters if narrow else None)
            if later:
                scores = await _add_common(connection, scores, later, collection, filters if narrow else None, k)
        return sorted(scores.items(), key=lambda entry: (-entry[1], entry[0]))[:k]

    async def _collection(self, connection: Connection, generation_id: int) -> Collection:
        until, found = self._collections.get(generation_id, (0.0, None))
        if found is None or self._monotonic() >= until:
            row = await connection.fetchrow(
                "SELECT count(*) AS chunks, coalesce(avg(length), 0) AS mean FROM chunk WHERE generation_id = $1",
                generation_id,
            )
            assert row is not None
            found = Collection(row["chunks"], float(row["mean"]) or 1.0)
            # Counting costs a millisecond per 5,000 chunks: it may be ever older, the more there are.
            until = self._monotonic() + KNOWN_FOR_S * (1 + found.chunks / 10_000)
            self._collections[generation_id] = (until, found)
        return found

    async def _weigh(self, connection: Connection, keys: Sequence[int], collection: Collection) -> list[Term]:
        """Return the terms that occur, rarest first."""
        now = self._monotonic()
        unknown = [key for key in keys if self._frequencies.get(key, (0.0, 0))[0] <= now]
        if unknown:
            rows = await connection.fetch(
                """
                SELECT t.term, (SELECT count(*) FROM posting p WHERE p.term = t.term) AS df
                FROM unnest($1::bigint[]) AS t (term)
                """,
                unknown,
            )
            if len(self._frequencies) > 100_000:
                self._frequencies.clear()
            until = now + KNOWN_FOR_S * (1 + collection.chunks / 10_000)
            self._frequencies.update({row["term"]: (until, row["df"]) for row in rows})
        counted = [(key, self._frequencies[key][1]) for key in keys]
        return sorted(
            (Term(key, df, idf(df, collection.chunks)) for key, df in counted if df), key=lambda term: term.df
        )


def idf(df: int, chunks: int) -> float:
    """Return the weight of a term that ``df`` of ``chunks`` chunks hold; never negative."""
    return math.log(1 + (max(chunks, df) - df + 0.5) / (df + 0.5))


def divide(terms: Sequence[Term]) -> tuple[list[Term], list[Term]]:
    """Split terms, rarest first, into those that are read whole and those read only where the first have found.

    The rest is put off once a term is common and everything from it on could not outweigh the rarest term alone.
    """
    for place in range(1, len(terms)):
        if terms[place].df > _RARE and sum(term.most for term in terms[place:]) < terms[0].idf:
            return list(terms[:place]), list(terms[place:])
    return list(terms), []


async def _scores(
    connection: Connection,
    terms: Sequence[Term],
    collection: Collection,
    filters: Filters | None,
    among: Sequence[int] | None = None,
) -> dict[int, float]:
    """Return each chunk's score by some terms, of all chunks or ``among`` some."""
    arguments: list[object] = [
        [term.key for term in terms],
        [term.idf for term in terms],
        [K1 * (1 - B)] * len(terms),
        [K1 * B / collection.mean_length] * len(terms),
    ]
    only = join = ""
    if among is not None:
        arguments.append(list(among))
        only = "AND posting.chunk_id = ANY($5::bigint[])"
    elif filters is not None:
        condition = where(filters, first=5)
        join = f"{_JOIN} WHERE {condition}"
        arguments += condition.arguments
    rows = await connection.fetch(_READ.format(k=K1 + 1, only=only, join=join), *arguments)
    return {row["chunk_id"]: row["score"] for row in rows}


async def _add_common(
    connection: Connection,
    scores: dict[int, float],
    later: Sequence[Term],
    collection: Collection,
    filters: Filters | None,
    k: int,
) -> dict[int, float]:
    """Add the common terms: to the chunks found, where that is provably enough, else read them whole."""
    best = sorted(scores.values(), reverse=True)
    most = sum(term.most for term in later)
    if len(best) < k or best[k - 1] < most:
        added = await _scores(connection, later, collection, filters)
        return {chunk: scores.get(chunk, 0.0) + added.get(chunk, 0.0) for chunk in scores.keys() | added.keys()}
    # A chunk below the k-th by more than the common terms can add will not reach it.
    near = {chunk: score for chunk, score in scores.items() if score + most >= best[k - 1]}
    added = await _scores(connection, later, collection, None, among=list(near))
    return {chunk: score + added.get(chunk, 0.0) for chunk, score in near.items()}
