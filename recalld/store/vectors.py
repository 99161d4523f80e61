"""The dense leg: cosine over half-precision vectors, exact while that is fast, and the token signs for reranking."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import asyncpg
import numpy as np
from pgvector import HalfVector

from recalld.model import Filters, TokenBits, Vector
from recalld.store.database import Connection, Database
from recalld.store.filters import OPEN, narrows, where

log = logging.getLogger(__name__)

EXACT_UP_TO = 60_000
"""Vectors of one generation up to which every one is compared; above, an HNSW index finds the candidates."""
MOST_INDEXED = 4_000
"""Dimensions of a halfvec that pgvector can index; larger ones are always compared one by one."""
_JOIN = "JOIN chunk c ON c.id = v.chunk_id JOIN document d ON d.id = c.document_id JOIN repo r ON r.id = d.repo_id"


class Vectors:
    """Searches and reads what is stored of embeddings."""

    def __init__(self, database: Database, exact_up_to: int = EXACT_UP_TO) -> None:
        self._database = database
        self._exact_up_to = exact_up_to
        self._indexed: dict[int, int] = {}

    async def search(self, generation_id: int, vector: Vector, k: int, filters: Filters) -> list[tuple[int, float]]:
        """Return at most ``k`` chunks with their cosine to ``vector``, best first."""
        query = HalfVector(vector.astype(np.float16))
        async with self._database.reading() as connection:
            narrow = narrows(filters) or not await connection.fetchval(OPEN)
            dimension = self._indexed.get(generation_id)
            # An index on an expression is used for that expression only, so without it the scan is exact.
            column = f"v.embedding::halfvec({dimension})" if dimension else "v.embedding"
            generation = str(int(generation_id)) if dimension else "$3"
            arguments: list[object] = [query, k] if dimension else [query, k, generation_id]
            condition = where(filters, first=len(arguments) + 1)
            rows = await connection.fetch(
                f"""
                WITH near AS MATERIALIZED (
                    SELECT v.chunk_id, {column} <=> $1 AS distance FROM chunk_vector v {_JOIN if narrow else ""}
                    WHERE v.generation_id = {generation} {f"AND {condition}" if narrow else ""}
                    ORDER BY distance LIMIT $2
                ) SELECT chunk_id, 1 - distance AS cosine FROM near ORDER BY distance + 0, chunk_id
                """,
                *arguments,
                *(condition.arguments if narrow else ()),
            )
        return [(row["chunk_id"], float(row["cosine"])) for row in rows]

    async def tend(self) -> None:
        """Give every large generation its index, drop those of generations that are gone; to be called now and then.

        Building takes minutes from a few 100,000 vectors on and does not keep writers out.
        """
        async with self._database.session() as connection:
            rows = await connection.fetch(
                """
                SELECT g.id, g.dimension, count(v.*) AS vectors,
                    EXISTS (SELECT FROM pg_index i WHERE i.indexrelid = to_regclass('chunk_vector_hnsw_' || g.id)
                            AND i.indisvalid) AS indexed
                FROM generation g LEFT JOIN chunk_vector v ON v.generation_id = g.id
                WHERE g.state <> 'retired' AND g.dimension <= $1 GROUP BY g.id
                """,
                MOST_INDEXED,
            )
            large = [row for row in rows if row["indexed"] or row["vectors"] > self._exact_up_to]
            async with _patient(connection):
                for row in large:
                    if not row["indexed"]:
                        await _build_index(connection, row["id"], row["dimension"])
                for left in await connection.fetch(_LEFT_OVER):
                    await connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {left['name']}")
            self._indexed = {row["id"]: row["dimension"] for row in large}

    async def bits(self, chunk_ids: Sequence[int]) -> dict[int, TokenBits]:
        """Return the packed token signs of chunks that have any, shape (tokens, dimension / 8)."""
        async with self._database.reading() as connection:
            rows = await connection.fetch(
                """
                SELECT b.chunk_id, b.bits, (g.dimension + 7) / 8 AS width FROM chunk_bits b
                JOIN chunk_vector v USING (chunk_id) JOIN generation g ON g.id = v.generation_id
                WHERE b.chunk_id = ANY($1::bigint[])
                """,
                list(chunk_ids),
            )
        return {row["chunk_id"]: np.frombuffer(row["bits"], np.uint8).reshape(-1, row["width"]) for row in rows}

    async def cosines(self, vector: Vector, chunk_ids: Sequence[int]) -> dict[int, float]:
        """Return the cosines of chunks with ``vector``, whose dimension they must have."""
        query = HalfVector(vector.astype(np.float16))
        async with self._database.reading() as connection:
            rows = await connection.fetch(
                """
                SELECT chunk_id, 1 - (embedding <=> $1) AS cosine
                FROM chunk_vector WHERE chunk_id = ANY($2::bigint[])
                """,
                query,
                list(chunk_ids),
            )
        return {row["chunk_id"]: float(row["cosine"]) for row in rows}


_LEFT_OVER = """
    SELECT relname AS name FROM pg_class WHERE relkind = 'i' AND relname ~ '^chunk_vector_hnsw_[0-9]+$'
    AND NOT EXISTS (SELECT FROM generation g WHERE relname = 'chunk_vector_hnsw_' || g.id)
"""


@asynccontextmanager
async def _patient(connection: Connection) -> AsyncIterator[None]:
    """Let statements take as long as they need."""
    await connection.execute("SET statement_timeout = 0")
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            await connection.execute("RESET statement_timeout")


async def _build_index(connection: Connection, generation_id: int, dimension: int) -> None:
    name = f"chunk_vector_hnsw_{int(generation_id)}"
    log.info("building %s: more vectors than are compared one by one", name)
    try:
        await connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        await connection.execute(
            f"""
            CREATE INDEX CONCURRENTLY {name} ON chunk_vector
            USING hnsw ((embedding::halfvec({int(dimension)})) halfvec_cosine_ops) WITH (m = 16, ef_construction = 64)
            WHERE generation_id = {int(generation_id)}
            """,
            timeout=3_600,
        )
    except asyncpg.DuplicateTableError:
        log.info("another node builds %s", name)
