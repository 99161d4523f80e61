"""Embeddings by the hash of what was embedded: those that chunks hold, and those kept for texts that come back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recalld.model import ChunkVectors
from recalld.store.database import Database


class EmbeddingCache:
    """Finds what was embedded before. Nothing is kept twice: a chunk's vectors enter when the chunk goes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, embedder_fingerprint: str, hashes: Sequence[str]) -> dict[str, ChunkVectors]:
        """Return the vectors of those texts that this embedder has embedded."""
        if not hashes:
            return {}
        async with self._database.session() as connection:
            rows = await connection.fetch(
                """
                SELECT wanted.hash, found.embedding, found.bits FROM unnest($2::text[]) AS wanted (hash)
                CROSS JOIN LATERAL (
                    SELECT v.embedding, b.bits FROM chunk c JOIN generation g ON g.id = c.generation_id
                    JOIN chunk_vector v ON v.chunk_id = c.id LEFT JOIN chunk_bits b ON b.chunk_id = c.id
                    WHERE c.hash = wanted.hash AND g.embedder_fingerprint = $1
                    UNION ALL
                    SELECT embedding, bits FROM embedding_cache e
                    WHERE e.hash = wanted.hash AND e.embedder_fingerprint = $1
                    LIMIT 1
                ) found
                """,
                embedder_fingerprint, list(hashes),
            )  # fmt: skip
        return {row["hash"]: _vectors(row["embedding"].to_numpy(), row["bits"]) for row in rows}

    async def count(self) -> int:
        """Return how many embeddings are kept beside those of chunks."""
        async with self._database.session() as connection:
            return int(await connection.fetchval("SELECT count(*) FROM embedding_cache"))

    async def prune(self, keep: int) -> int:
        """Drop all but the ``keep`` newest; return how many went."""
        async with self._database.session() as connection:
            done = await connection.execute(
                """
                DELETE FROM embedding_cache WHERE (embedder_fingerprint, hash) IN (
                    SELECT embedder_fingerprint, hash FROM embedding_cache WHERE (embedder_fingerprint, hash) IN (
                        SELECT embedder_fingerprint, hash FROM embedding_cache ORDER BY kept_at DESC, hash OFFSET $1
                    ) ORDER BY 1, 2 FOR UPDATE
                )
                """,
                keep,
            )
        return int(done.split()[-1])


def _vectors(embedding: np.ndarray, bits: bytes | None) -> ChunkVectors:
    pooled = embedding.astype(np.float32)
    if bits is None:
        return ChunkVectors(pooled, None)
    return ChunkVectors(pooled, np.frombuffer(bits, np.uint8).reshape(-1, (len(pooled) + 7) // 8))
