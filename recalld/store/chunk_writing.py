"""A document's chunks in one generation: keep what is unchanged, add what is new, drop what is gone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from pgvector import HalfVector

from recalld.errors import RetryLater
from recalld.model import ChunkWrite
from recalld.store.database import Connection
from recalld.store.terms import term_key

_CHUNK = (
    *("id", "generation_id", "document_id", "ordinal", "first_line", "last_line", "tokens", "length"),
    *("hash", "heading", "text", "terms"),
)


@dataclass(slots=True)
class Split:
    """What a rewrite does: rows kept at a new place, copies of kept rows, new rows, rows that go."""

    kept: list[tuple[int, ChunkWrite]] = field(default_factory=list)
    copied: list[tuple[int, ChunkWrite]] = field(default_factory=list)
    new: list[ChunkWrite] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)


def split(held: Mapping[str, Sequence[int]], chunks: Sequence[ChunkWrite]) -> Split:
    """Sort ``chunks`` out against the rows ``held`` by hash.

    Raises RetryLater when a chunk without vectors claims a row that is not there (any more).
    """
    free = {hash_: list(ids) for hash_, ids in held.items()}
    result = Split()
    for chunk in chunks:
        ids = free.get(chunk.draft.hash)
        if ids:
            result.kept.append((ids.pop(0), chunk))
        elif chunk.vectors is not None and chunk.postings is not None:
            result.new.append(chunk)
        elif chunk.draft.hash in held:
            result.copied.append((held[chunk.draft.hash][0], chunk))
        else:
            raise RetryLater("a chunk that was taken for unchanged has gone", after=0.1)
    result.gone = [id_ for ids in free.values() for id_ in ids]
    return result


async def replace_chunks(
    connection: Connection, document_id: int, generation_id: int, chunks: Sequence[ChunkWrite]
) -> None:
    """Make a document's chunks in a generation equal to ``chunks``; to be called inside a transaction."""
    held: dict[str, list[int]] = defaultdict(list)
    rows = await connection.fetch(
        "SELECT id, hash FROM chunk WHERE document_id = $1 AND generation_id = $2 ORDER BY ordinal",
        document_id, generation_id,
    )  # fmt: skip
    for row in rows:
        held[row["hash"]].append(row["id"])
    work = split(held, chunks)
    await _move(connection, work.kept)
    await _insert(connection, document_id, generation_id, work.new)
    for source, chunk in work.copied:
        await _copy(connection, source, chunk)
    await drop_chunks(connection, work.gone, cache=True)
    await connection.execute(
        "INSERT INTO document_generation (generation_id, document_id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        generation_id, document_id,
    )  # fmt: skip


async def _move(connection: Connection, kept: Sequence[tuple[int, ChunkWrite]]) -> None:
    if not kept:
        return
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


async def _insert(connection: Connection, document_id: int, generation_id: int, chunks: Sequence[ChunkWrite]) -> None:
    if not chunks:
        return
    numbers = await connection.fetch(
        "SELECT nextval(pg_get_serial_sequence('chunk', 'id')) AS id FROM generate_series(1, $1)", len(chunks)
    )
    rows, postings, vectors, bits = [], [], [], []
    for number, chunk in zip(numbers, chunks, strict=True):
        id_, draft = number["id"], chunk.draft
        assert chunk.postings is not None
        assert chunk.vectors is not None
        length = chunk.postings.length
        terms = {term_key(generation_id, term): tf for term, tf in chunk.postings.frequencies.items()}
        rows.append(
            (id_, generation_id, document_id, draft.ordinal, *draft.lines, draft.tokens, length,
             draft.hash, list(draft.heading), draft.text, list(terms))
        )  # fmt: skip
        postings += [(term, id_, tf, length) for term, tf in terms.items()]
        vectors.append((id_, generation_id, HalfVector(chunk.vectors.pooled.astype(np.float16))))
        if chunk.vectors.bits is not None:
            bits.append((id_, chunk.vectors.bits.tobytes()))
    await connection.copy_records_to_table("chunk", records=rows, columns=_CHUNK)
    await connection.copy_records_to_table(
        "posting", records=sorted(postings), columns=("term", "chunk_id", "tf", "length")
    )
    await connection.copy_records_to_table(
        "chunk_vector", records=vectors, columns=("chunk_id", "generation_id", "embedding")
    )
    await connection.copy_records_to_table("chunk_bits", records=bits, columns=("chunk_id", "bits"))


async def _copy(connection: Connection, source: int, chunk: ChunkWrite) -> None:
    """Add a chunk that says the same as a row of this document."""
    id_ = await connection.fetchval(
        """
        INSERT INTO chunk (generation_id, document_id, ordinal, first_line, last_line, tokens, length, hash,
                           heading, text, terms)
        SELECT generation_id, document_id, $2, $3, $4, tokens, length, hash, heading, text, terms
        FROM chunk WHERE id = $1 RETURNING id
        """,
        source, chunk.draft.ordinal, *chunk.draft.lines,
    )  # fmt: skip
    await connection.execute(
        "INSERT INTO chunk_vector SELECT $2, generation_id, embedding FROM chunk_vector WHERE chunk_id = $1",
        source,
        id_,
    )
    await connection.execute("INSERT INTO chunk_bits SELECT $2, bits FROM chunk_bits WHERE chunk_id = $1", source, id_)
    await connection.execute(
        """
        INSERT INTO posting (term, chunk_id, tf, length) SELECT p.term, $2, p.tf, p.length
        FROM (SELECT unnest(terms) AS term FROM chunk WHERE id = $1) t JOIN posting p ON p.term = t.term
        WHERE p.chunk_id = $1
        """,
        source, id_,
    )  # fmt: skip


async def drop_chunks(connection: Connection, ids: Sequence[int], *, cache: bool) -> None:
    """Remove chunks with their postings and vectors; ``cache`` keeps the vectors for a text that may come back."""
    if not ids:
        return
    if cache:
        await connection.execute(
            """
            INSERT INTO embedding_cache (embedder_fingerprint, hash, embedding, bits, kept_at)
            SELECT DISTINCT ON (g.embedder_fingerprint, c.hash)
                   g.embedder_fingerprint, c.hash, v.embedding, b.bits, now()
            FROM chunk c JOIN generation g ON g.id = c.generation_id JOIN chunk_vector v ON v.chunk_id = c.id
            LEFT JOIN chunk_bits b ON b.chunk_id = c.id
            WHERE c.id = ANY($1::bigint[]) ORDER BY 1, 2 ON CONFLICT DO NOTHING
            """,
            ids,
        )
    await connection.execute(
        """
        DELETE FROM posting p USING (SELECT unnest(terms) AS term, id FROM chunk WHERE id = ANY($1::bigint[])) gone
        WHERE p.term = gone.term AND p.chunk_id = gone.id
        """,
        ids,
    )
    await connection.execute("DELETE FROM chunk WHERE id = ANY($1::bigint[])", ids)


async def drop_document_chunks(
    connection: Connection, document_id: int, *, cache: bool, except_in: Sequence[int] = ()
) -> None:
    """Remove a document's chunks in every generation but those of ``except_in``."""
    rows = await connection.fetch(
        "SELECT id FROM chunk WHERE document_id = $1 AND generation_id <> ALL($2::int[])", document_id, list(except_in)
    )
    await drop_chunks(connection, [row["id"] for row in rows], cache=cache)
    await connection.execute(
        "DELETE FROM document_generation WHERE document_id = $1 AND generation_id <> ALL($2::int[])",
        document_id, list(except_in),
    )  # fmt: skip
