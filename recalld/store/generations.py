"""Generations: one serves, at most one is built beside it, old ones are dropped in bites."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg

from recalld.model import ChunkWrite, Generation
from recalld.store.chunk_writing import drop_chunks, replace_chunks
from recalld.store.database import Database
from recalld.store.document_reading import document_of
from recalld.store.rows import StoredDocument

_LOCK = 0x7265_6361_6C6C_6401
_BITE = 500
_MISSING = """
    d.text IS NOT NULL AND NOT EXISTS (
        SELECT FROM document_generation g WHERE g.generation_id = $1 AND g.document_id = d.id
    )
"""


class Generations:
    """Registers, fills and switches generations."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ensure(self, fingerprint: str, *, embedder: str, embedder_fingerprint: str, dimension: int) -> Generation:
        """Return the generation of a fingerprint, making it where needed.

        The first of all serves at once; another is being built until :meth:`switch`. One that had been retired is
        built again, from what is left of it.
        """
        async with self._database.session() as connection, connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
            row = await connection.fetchrow("SELECT * FROM generation WHERE fingerprint = $1", fingerprint)
            if row is None:
                row = await connection.fetchrow(
                    """
                    INSERT INTO generation (fingerprint, embedder, embedder_fingerprint, dimension, state, switched_at)
                    SELECT $1, $2, $3, $4, CASE WHEN first THEN 'serving' ELSE 'building' END,
                           CASE WHEN first THEN now() END
                    FROM (SELECT NOT EXISTS (SELECT FROM generation WHERE state = 'serving') AS first) f RETURNING *
                    """,
                    fingerprint, embedder, embedder_fingerprint, dimension,
                )  # fmt: skip
            elif row["state"] == "retired":
                row = await connection.fetchrow(
                    "UPDATE generation SET state = 'building' WHERE id = $1 RETURNING *", row["id"]
                )
            assert row is not None
            await connection.execute(
                "UPDATE generation SET state = 'retired' WHERE state = 'building' AND id <> $1", row["id"]
            )
        return _generation(row)

    async def serving(self) -> Generation | None:
        """Return the generation that answers, None before the first was made."""
        async with self._database.session() as connection:
            row = await connection.fetchrow("SELECT * FROM generation WHERE state = 'serving'")
        return _generation(row) if row else None

    async def switch(self, id_: int) -> None:
        """Let a generation serve in place of the old one, in one transaction."""
        async with self._database.session() as connection, connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
            await connection.execute(
                "UPDATE generation SET state = 'retired' WHERE state = 'serving' AND id <> $1", id_
            )
            await connection.execute("UPDATE generation SET state = 'serving', switched_at = now() WHERE id = $1", id_)

    async def documents_missing(self, id_: int, limit: int) -> list[StoredDocument]:
        """Return documents that a generation does not hold in their newest state, without chunks and edges."""
        async with self._database.session() as connection:
            rows = await connection.fetch(
                f"""
                SELECT d.*, r.name AS repo FROM document d JOIN repo r ON r.id = d.repo_id
                WHERE {_MISSING} ORDER BY d.id LIMIT $2
                """,
                id_, limit,
            )  # fmt: skip
        return [document_of(row) for row in rows]

    async def add(self, id_: int, document: StoredDocument, chunks: Sequence[ChunkWrite]) -> bool:
        """Add a document's chunks to a generation; False when it changed since it was read."""
        async with self._database.writing() as connection:
            lock = await connection.fetchval("SELECT repo_id || ':' || path FROM document WHERE id = $1", document.id)
            await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", lock or "")
            same = await connection.fetchval(
                f"SELECT text_hash = $3 FROM document d WHERE d.id = $2 AND {_MISSING}",
                id_, document.id, document.content_hash,
            )  # fmt: skip
            if same:
                await replace_chunks(connection, document.id, id_, chunks)
            return bool(same)

    async def drop_retired(self) -> bool:
        """Drop a bite of the retired generations; False once there is none."""
        async with self._database.writing() as connection:
            retired = await connection.fetchval("SELECT id FROM generation WHERE state = 'retired' LIMIT 1")
            if retired is None:
                return False
            rows = await connection.fetch("SELECT id FROM chunk WHERE generation_id = $1 LIMIT $2", retired, _BITE)
            await drop_chunks(connection, [row["id"] for row in rows], cache=True)
            if len(rows) < _BITE:
                await connection.execute("DELETE FROM document_generation WHERE generation_id = $1", retired)
                await connection.execute("DELETE FROM generation WHERE id = $1 AND state = 'retired'", retired)
            return True


def _generation(row: asyncpg.Record) -> Generation:
    return Generation(
        row["id"],
        row["fingerprint"],
        row["embedder"],
        row["embedder_fingerprint"],
        row["dimension"],
        row["state"],
        created_at=row["created_at"],
        switched_at=row["switched_at"],
    )
