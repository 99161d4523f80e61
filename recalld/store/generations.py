"""Generations: one serves, at most one is built beside it, old ones are dropped in bites."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg

from recalld.errors import RetryLater
from recalld.model import ChunkWrite, Generation, ParsedDocument
from recalld.store import locks
from recalld.store.chunk_writing import drop_chunks, replace_chunks
from recalld.store.database import Database
from recalld.store.document_reading import document_of
from recalld.store.document_row import find_place, restate
from recalld.store.edges import replace_edges
from recalld.store.rows import StoredDocument

_BITE = 100
"""Documents whose chunks are dropped in one transaction."""
_SETTLED = """
    SELECT * FROM generation g WHERE state <> 'retired'
    AND NOT EXISTS (SELECT FROM generation o WHERE o.state = 'building' AND o.id <> g.id)
"""
_ENSURE = """
    INSERT INTO generation AS g (fingerprint, embedder, embedder_fingerprint, dimension, state, switched_at)
    SELECT $1, $2, $3, $4, CASE WHEN first THEN 'serving' ELSE 'building' END, CASE WHEN first THEN now() END
    FROM (SELECT NOT EXISTS (SELECT FROM generation WHERE state = 'serving') AS first) f
    ON CONFLICT (fingerprint) DO UPDATE
    SET state = CASE g.state WHEN 'retired' THEN excluded.state ELSE g.state END RETURNING *
"""
_MISSING = """
    d.text IS NOT NULL AND NOT EXISTS (
        SELECT FROM document_generation g WHERE g.generation_id = $1 AND g.document_id = d.id
    ) AND NOT EXISTS (SELECT FROM repo gone WHERE gone.id = d.repo_id AND gone.removed)
"""


class Generations:
    """Registers, fills and switches generations."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ensure(self, fingerprint: str, *, embedder: str, embedder_fingerprint: str, dimension: int) -> Generation:
        """Return the generation of a fingerprint, making it where needed; cheap when there is nothing to do.

        The first of all serves at once; another is being built until :meth:`switch`. One that had been retired is
        built again, from what is left of it.
        """
        async with self._database.session() as connection:
            row = await connection.fetchrow(f"{_SETTLED} AND fingerprint = $1", fingerprint)
        if row is None:
            async with self._database.writing(alone=[locks.STRUCTURE], durable=True) as connection:
                row = await connection.fetchrow(_ENSURE, fingerprint, embedder, embedder_fingerprint, dimension)
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

    async def switch(self, id_: int) -> bool:
        """Let a generation serve in place of the old one, in one transaction.

        False when there are documents that it does not hold: they were written while it was not yet known everywhere.
        """
        async with self._database.writing(alone=[locks.STRUCTURE], durable=True) as connection:
            if await connection.fetchval(f"SELECT EXISTS (SELECT FROM document d WHERE {_MISSING})", id_):
                return False
            await connection.execute(
                "UPDATE generation SET state = 'retired' WHERE state = 'serving' AND id <> $1", id_
            )
            await connection.execute("UPDATE generation SET state = 'serving', switched_at = now() WHERE id = $1", id_)
            return True

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

    async def add(
        self, id_: int, document: StoredDocument, parsed: ParsedDocument, chunks: Sequence[ChunkWrite]
    ) -> bool:
        """Add a document to a generation, with what was read from its text again; False when it changed since.

        Raises RetryLater when the generation was retired meanwhile.
        """
        async with self._database.session() as connection:
            repo_id = await connection.fetchval("SELECT repo_id FROM document WHERE id = $1", document.id)
        if repo_id is None:
            return False
        async with self._database.writing(
            shared=[locks.STRUCTURE], alone=[locks.document(repo_id, document.path)]
        ) as connection:
            place = await find_place(connection, repo_id, document.path, len(chunks))
            if id_ not in place.live:
                raise RetryLater(f"generation {id_} was retired meanwhile")
            same = await connection.fetchval(
                f"SELECT text_hash = $3 FROM document d WHERE d.id = $2 AND {_MISSING}",
                id_, document.id, document.content_hash,
            )  # fmt: skip
            if same:
                await restate(connection, document.id, parsed)
                await replace_edges(connection, document.id, parsed.edges, document.indexed_at, exists=True)
                await replace_chunks(connection, document.id, {id_: chunks}, {}, place.chunk_ids)
                await connection.execute("INSERT INTO document_generation VALUES ($1, $2)", id_, document.id)
            return bool(same)

    async def drop_retired(self) -> bool:
        """Drop a bite of the retired generations; False once there is none."""
        async with self._database.session() as connection:
            retired = await connection.fetchval("SELECT id FROM generation WHERE state = 'retired' ORDER BY id LIMIT 1")
            if retired is None:
                return False
            rows = await connection.fetch(
                """
                SELECT d.id, d.repo_id, d.path FROM document_generation g JOIN document d ON d.id = g.document_id
                WHERE g.generation_id = $1 LIMIT $2
                """,
                retired, _BITE,
            )  # fmt: skip
        if rows:
            await self._drop(retired, [row["id"] for row in rows], [(row["repo_id"], row["path"]) for row in rows])
        else:
            await self._forget(retired)
        return True

    async def _drop(self, id_: int, documents: Sequence[int], places: Sequence[tuple[int, str]]) -> None:
        async with self._database.writing(shared=[locks.STRUCTURE], alone=locks.documents(places)) as connection:
            if await connection.fetchval("SELECT state FROM generation WHERE id = $1", id_) != "retired":
                return
            rows = await connection.fetch(
                "SELECT id FROM chunk WHERE generation_id = $1 AND document_id = ANY($2::bigint[])", id_, documents
            )
            await drop_chunks(connection, [row["id"] for row in rows], cache=True)
            await connection.execute(
                "DELETE FROM document_generation WHERE generation_id = $1 AND document_id = ANY($2::bigint[])",
                id_, documents,
            )  # fmt: skip

    async def _forget(self, id_: int) -> None:
        async with self._database.writing(alone=[locks.STRUCTURE]) as connection:
            await connection.execute(
                """
                DELETE FROM generation g WHERE id = $1 AND state = 'retired'
                AND NOT EXISTS (SELECT FROM document_generation d WHERE d.generation_id = g.id)
                """,
                id_,
            )


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
