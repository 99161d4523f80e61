"""Chunks by id, with what a hit needs to say where it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recalld.model import Position, StoredChunk
from recalld.store.database import Database
from recalld.store.rows import ChunkOwner, HeldChunk
from recalld.store.text import unescape_all


class Chunks:
    """Reads chunks; one that is gone is left out."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def fetch(self, chunk_ids: Sequence[int]) -> list[StoredChunk]:
        """Return chunks with their documents, in the order asked for."""
        async with self._database.reading() as connection:
            rows = await connection.fetch(
                """
                SELECT c.id AS chunk_id, c.document_id, c.heading, c.first_line, c.last_line, c.text AS passage, c.hash,
                       r.name AS repo, d.path, d.title, d.kind, d.tags, d.text_hash, d.text_commit, d.agent, d.epoch,
                       d.seq, d.modified_at, d.indexed_at, d.first_indexed_at, d.metadata
                FROM chunk c JOIN document d ON d.id = c.document_id JOIN repo r ON r.id = d.repo_id
                WHERE c.id = ANY($1::bigint[])
                """,
                list(chunk_ids),
            )
        found = {row["chunk_id"]: _chunk(row) for row in rows}
        return [found[id_] for id_ in chunk_ids if id_ in found]

    async def texts(self, chunk_ids: Sequence[int]) -> dict[int, str]:
        """Return chunks as a reader sees them: title and headings, then the text."""
        return {chunk.id: chunk.passage for chunk in await self.fetch(chunk_ids)}

    async def owners(self, chunk_ids: Sequence[int]) -> dict[int, ChunkOwner]:
        """Return where chunks stand."""
        async with self._database.reading() as connection:
            rows = await connection.fetch(
                "SELECT id, document_id, ordinal, first_line, last_line, hash FROM chunk WHERE id = ANY($1::bigint[])",
                list(chunk_ids),
            )
        return {
            row["id"]: ChunkOwner(
                row["document_id"], row["ordinal"], (row["first_line"], row["last_line"]), row["hash"]
            )
            for row in rows
        }

    async def all_of(self, generation_id: int) -> list[HeldChunk]:
        """Return every chunk of a generation, by document and in order there: to count and to measure with."""
        async with self._database.reading() as connection:
            rows = await connection.fetch(
                """
                SELECT c.id, d.path, c.first_line, c.last_line, c.tokens, c.text
                FROM chunk c JOIN document d ON d.id = c.document_id
                WHERE c.generation_id = $1 ORDER BY d.path, c.ordinal
                """,
                generation_id,
            )
        return [
            HeldChunk(row["id"], row["path"], (row["first_line"], row["last_line"]), row["tokens"], row["text"])
            for row in rows
        ]

    async def of_documents(self, generation_id: int, document_ids: Sequence[int]) -> dict[int, list[int]]:
        """Return the ids of the chunks that a generation holds of documents, in their order there."""
        async with self._database.reading() as connection:
            rows = await connection.fetch(
                """
                SELECT document_id, id FROM chunk WHERE document_id = ANY($2::bigint[]) AND generation_id = $1
                ORDER BY document_id, ordinal
                """,
                generation_id,
                list(document_ids),
            )
        found: dict[int, list[int]] = {}
        for row in rows:
            found.setdefault(row["document_id"], []).append(row["id"])
        return found


def _chunk(row: Any) -> StoredChunk:
    return StoredChunk(
        id=row["chunk_id"],
        document_id=row["document_id"],
        repo=row["repo"],
        path=row["path"],
        title=row["title"],
        kind=row["kind"],
        tags=unescape_all(row["tags"]),
        heading=unescape_all(row["heading"]),
        lines=(row["first_line"], row["last_line"]),
        text=row["passage"],
        hash=row["hash"],
        content_hash=row["text_hash"],
        commit=row["text_commit"],
        agent=row["agent"],
        position=Position(row["epoch"], row["seq"]),
        modified_at=row["modified_at"],
        indexed_at=row["indexed_at"],
        first_indexed_at=row["first_indexed_at"],
        metadata=row["metadata"],
    )
