"""A document's chunks: keep what is unchanged, add what is new, drop what is gone.

Everything here runs inside a transaction that holds the document's lock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pgvector import HalfVector

from recalld.errors import RetryLater
from recalld.model import ChunkWrite
from recalld.store.database import Connection
from recalld.store.terms import term_key
from recalld.store.text import escape_all

_AT_ONCE = 256
"""Chunks that one statement writes or drops: some 2 MB of arguments, and far below any statement timeout."""

Held = Mapping[int, Mapping[str, Sequence[int]]]
"""Chunk ids that a document holds, by generation and hash."""


@dataclass(slots=True)
class Plan:
    """What a rewrite does: rows kept at a new place, copies of kept rows, new rows by generation, rows that go."""

    kept: list[tuple[int, ChunkWrite]] = field(default_factory=list)
    copied: list[tuple[int, ChunkWrite]] = field(default_factory=list)
    new: list[tuple[int, ChunkWrite]] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)

    def add(self, generation_id: int, held: Mapping[str, Sequence[int]], chunks: Sequence[ChunkWrite]) -> None:
        """Sort ``chunks`` of one generation out against the rows ``held`` by hash.

        Raises RetryLater when a chunk without vectors claims a row that is not there (any more).
        """
        free = {hash_: list(ids) for hash_, ids in held.items()}
        for chunk in chunks:
            ids = free.get(chunk.draft.hash)
            if ids:
                self.kept.append((ids.pop(0), chunk))
            elif chunk.vectors is not None and chunk.postings is not None:
                self.new.append((generation_id, chunk))
            elif chunk.draft.hash in held:
                self.copied.append((held[chunk.draft.hash][0], chunk))
            else:
                raise RetryLater("a chunk that was taken for unchanged has gone", after=0.1)
        self.gone += [id_ for ids in free.values() for id_ in ids]


async def held_chunks(connection: Connection, document_id: int) -> Held:
    """Return the ids of all chunks of a document."""
    held: dict[int, dict[str, list[int]]] = {}
    for row in await connection.fetch(
        "SELECT id, generation_id, hash FROM chunk WHERE document_id = $1 ORDER BY ordinal, id", document_id
    ):
        held.setdefault(row["generation_id"], {}).setdefault(row["hash"], []).append(row["id"])
    return held


async def replace_chunks(
    connection: Connection,
    document_id: int,
    chunks: Mapping[int, Sequence[ChunkWrite]],
    held: Held,
    ids: Iterator[int],
) -> None:
    """Make a document's chunks equal to ``chunks`` in the generations that it names; ``ids`` are for new rows.

    Raises RetryLater when a chunk without vectors claims a row that is not there (any more).
    """
    plan = Plan()
    for generation_id, wanted in chunks.items():
        plan.add(generation_id, held.get(generation_id, {}), wanted)
    if plan.kept:
        await _move(connection, plan.kept)
    for first in range(0, len(plan.new), _AT_ONCE):
        await _insert(connection, document_id, plan.new[first : first + _AT_ONCE], ids)
    for source, chunk in plan.copied:
        await connection.execute(_COPY, source, next(ids), chunk.draft.ordinal, *chunk.draft.lines)
    await drop_chunks(connection, plan.gone, cache=True)


async def _move(connection: Connection, kept: Sequence[tuple[int, ChunkWrite]]) -> None:
    await connection.execute(
        """
        UPDATE chunk c SET ordinal = n.ordinal, first_line = n.first_line, last_line = n.last_line
        FROM unnest($1::bigint[], $2::int[], $3::int[], $4::int[]) AS n (id, ordinal, first_line, last_line)
        WHERE c.id = n.id AND (c.ordinal, c.first_line, c.last_line) <> (n.ordinal, n.first_line, n.last_line)
        """,
        [id_ for id_, _ in kept],
        [chunk.draft.ordinal for _, chunk in kept],
        [chunk.draft.lines[0] for _, chunk in kept],
        [chunk.draft.lines[1] for _, chunk in kept],
    )


# One argument and one round trip for all four tables.
_INSERT = """
    WITH written AS MATERIALIZED (SELECT * FROM unnest($1::chunk_write[])),
    chunks AS (
        INSERT INTO chunk (id, generation_id, document_id, ordinal, first_line, last_line, tokens, length, hash,
                           heading, text, terms) OVERRIDING SYSTEM VALUE
        SELECT id, generation_id, document_id, ordinal, first_line, last_line, tokens, length, hash,
               heading, text, terms FROM written
    ),
    vectors AS (
        INSERT INTO chunk_vector (chunk_id, generation_id, embedding) SELECT id, generation_id, embedding FROM written
    ),
    bits AS (INSERT INTO chunk_bits (chunk_id, bits) SELECT id, bits FROM written WHERE bits IS NOT NULL)
    INSERT INTO posting (term, chunk_id, tf, length)
    SELECT p.term, w.id, p.tf, w.length FROM written w, unnest(w.terms, w.frequencies) AS p (term, tf)
"""
_COPY = """
    WITH chunks AS (
        INSERT INTO chunk (id, generation_id, document_id, ordinal, first_line, last_line, tokens, length, hash,
                           heading, text, terms) OVERRIDING SYSTEM VALUE
        SELECT $2, generation_id, document_id, $3, $4, $5, tokens, length, hash, heading, text, terms
        FROM chunk WHERE id = $1
    ), vectors AS (
        INSERT INTO chunk_vector SELECT $2, generation_id, embedding FROM chunk_vector WHERE chunk_id = $1
    ), bits AS (
        INSERT INTO chunk_bits SELECT $2, bits FROM chunk_bits WHERE chunk_id = $1
    )
    INSERT INTO posting
    SELECT p.term, $2, p.tf, p.length
    FROM posting p JOIN (SELECT unnest(terms) AS term FROM chunk WHERE id = $1) t ON t.term = p.term
    WHERE p.chunk_id = $1
"""


async def _insert(
    connection: Connection, document_id: int, chunks: Sequence[tuple[int, ChunkWrite]], ids: Iterator[int]
) -> None:
    await connection.execute(
        _INSERT,
        [(next(ids), generation_id, document_id, *_fields(generation_id, chunk)) for generation_id, chunk in chunks],
    )


def _fields(generation_id: int, chunk: ChunkWrite) -> tuple[Any, ...]:
    draft, postings, vectors = chunk.draft, chunk.postings, chunk.vectors
    assert postings is not None
    assert vectors is not None
    terms = {term_key(generation_id, term): tf for term, tf in postings.frequencies.items()}
    return (
        draft.ordinal, *draft.lines, draft.tokens, postings.length, draft.hash, escape_all(draft.heading), draft.text,
        list(terms), list(terms.values()), HalfVector(vectors.pooled.astype(np.float16)),
        None if vectors.bits is None else vectors.bits.tobytes(),
    )  # fmt: skip


# In the order of the cache's key, so that two writers cannot wait for each other.
_CACHE = """
    INSERT INTO embedding_cache (embedder_fingerprint, hash, embedding, bits, kept_at)
    SELECT DISTINCT ON (g.embedder_fingerprint, c.hash)
           g.embedder_fingerprint, c.hash, v.embedding, b.bits, now()
    FROM chunk c JOIN generation g ON g.id = c.generation_id JOIN chunk_vector v ON v.chunk_id = c.id
    LEFT JOIN chunk_bits b ON b.chunk_id = c.id
    WHERE c.id = ANY($1::bigint[]) ORDER BY 1, 2 ON CONFLICT DO NOTHING
"""
_DROP = """
    WITH postings AS (
        DELETE FROM posting p USING (SELECT unnest(terms) AS term, id FROM chunk WHERE id = ANY($1::bigint[])) gone
        WHERE p.term = gone.term AND p.chunk_id = gone.id
    )
    DELETE FROM chunk WHERE id = ANY($1::bigint[])
"""


async def drop_chunks(connection: Connection, ids: Sequence[int], *, cache: bool) -> None:
    """Remove chunks with all that hangs on them; ``cache`` keeps their vectors for texts that come back.

    To be called once a transaction: what is added to the cache must be added in one order.
    """
    if ids and cache:
        await connection.execute(_CACHE, ids)
    for first in range(0, len(ids), _AT_ONCE):
        await connection.execute(_DROP, ids[first : first + _AT_ONCE])
