"""Documents: what is indexed, what was seen, what is gone. One transaction a document, guarded by its position."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

from recalld.errors import RetryLater
from recalld.model import ChunkWrite, DocumentState, Operation, Position, Snapshot
from recalld.store import locks
from recalld.store.chunk_writing import drop_chunks, held_chunks, replace_chunks
from recalld.store.database import Connection, Database
from recalld.store.document_reading import DocumentReading
from recalld.store.document_row import NOTHING_READ, Place, content_columns, find_place, manifest_columns, put
from recalld.store.edges import replace_edges
from recalld.store.rows import DocumentWrite, Outcome


class Documents(DocumentReading):
    """Writes documents and tombstones; reading is in the base."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._database = database

    async def write(self, write: DocumentWrite) -> Outcome:
        """Index a document: row, edges and chunks, whole or not at all.

        Its chunks in generations that ``write`` does not name are dropped, to be made anew from the new text.
        Raises RetryLater when a repo, a generation or a chunk went away meanwhile, or another writer was faster.
        """
        new_chunks = sum(map(len, write.chunks.values()))
        async with self._at(write.repo_id, write.snapshot.path, new_chunks) as (connection, place):
            outcome = place.judge(write.position)
            if outcome is Outcome.FORGOTTEN:
                await _note(connection, write.repo_id, place, write.snapshot, write.position, write.at)
            if outcome is not Outcome.WRITTEN:
                return outcome
            if not place.live.issuperset(write.chunks):
                raise RetryLater("a generation was retired meanwhile", after=0.1)
            seen = manifest_columns(write.snapshot, write.position, DocumentState.INDEXED, "", write.at)
            await put(connection, place.id, write.repo_id, {**seen, **content_columns(write)})
            await replace_edges(connection, place.id, write.parsed.edges, write.at, exists=place.exists)
            await _replace_in_generations(connection, place, write)
            return outcome

    async def delete(self, repo_id: int, path: str, position: Position, *, at: datetime) -> Outcome:
        """Drop a document and leave a tombstone with its position."""
        snapshot = Snapshot("", path, Operation.DELETE)
        return await self._empty(repo_id, snapshot, position, DocumentState.DELETED, "", at)

    async def skip(self, repo_id: int, snapshot: Snapshot, position: Position, *, at: datetime) -> Outcome:
        """Note a file that is left out on purpose; what was indexed of it goes."""
        return await self._empty(repo_id, snapshot, position, DocumentState.SKIPPED, snapshot.skip or "", at)

    async def _empty(
        self, repo_id: int, snapshot: Snapshot, position: Position, state: str, reason: str, at: datetime
    ) -> Outcome:
        async with self._at(repo_id, snapshot.path) as (connection, place):
            outcome = place.judge(position)
            if outcome is Outcome.FORGOTTEN:
                await _note(connection, repo_id, place, snapshot, position, at)
            elif outcome is Outcome.WRITTEN:
                seen = manifest_columns(snapshot, position, state, reason, at)
                await put(connection, place.id, repo_id, {**seen, **NOTHING_READ})
                await _drop_contents(connection, place, cache=True)
            return outcome

    async def fail(self, repo_id: int, snapshot: Snapshot, position: Position, reason: str, *, at: datetime) -> Outcome:
        """Note that a state of a file could not be indexed. What was indexed before goes on being served.

        A position that was indexed after all (its acknowledgement was lost) has not failed.
        """
        async with self._at(repo_id, snapshot.path) as (connection, place):
            outcome = place.judge(position)
            if outcome is Outcome.WRITTEN and place.position == position and place.state == DocumentState.INDEXED:
                return Outcome.STALE
            if outcome is Outcome.FORGOTTEN:
                await _note(connection, repo_id, place, snapshot, position, at)
            elif outcome is Outcome.WRITTEN:
                seen = manifest_columns(snapshot, position, DocumentState.FAILED, reason, at)
                await put(connection, place.id, repo_id, seen)
            return outcome

    async def forget(self, repo_id: int, path: str, *, by: str, at: datetime) -> int:
        """Drop a document's text for good and keep it out; return how many chunks were served of it."""
        async with self._at(repo_id, path, durable=True) as (connection, place):
            if not place.exists:
                return 0
            chunks: int = await connection.fetchval(
                "SELECT count(*) FROM chunk WHERE document_id = $1 AND generation_id IN "
                "(SELECT id FROM generation WHERE state = 'serving')",
                place.id,
            )
            await connection.execute(_DROP_CACHED, place.id)
            await _drop_contents(connection, place, cache=False)
            await _empty_as(connection, repo_id, path, place, DocumentState.FORGOTTEN, f"forgotten by {by}", at)
            return chunks

    async def unforget(self, repo_id: int, path: str, *, by: str, at: datetime) -> bool:
        """Let a forgotten document in again, once its file is looked at; False when it was not forgotten."""
        async with self._at(repo_id, path, durable=True) as (connection, place):
            if place.state != DocumentState.FORGOTTEN:
                return False
            await _empty_as(connection, repo_id, path, place, DocumentState.DELETED, f"let in again by {by}", at)
            return True

    async def prune_tombstones(self, before: datetime) -> int:
        """Drop the tombstones of what was deleted before a time; return how many."""
        async with self._database.session() as connection:
            done = await connection.execute("DELETE FROM document WHERE state = 'deleted' AND changed_at < $1", before)
        return int(done.split()[-1])

    @asynccontextmanager
    async def _at(
        self, repo_id: int, path: str, new_chunks: int = 0, *, durable: bool = False
    ) -> AsyncIterator[tuple[Connection, Place]]:
        """Keep other writers of a document out; lend a transaction and what stands there."""
        async with self._database.writing(
            shared=[locks.STRUCTURE], alone=[locks.document(repo_id, path)], durable=durable
        ) as connection:
            yield connection, await find_place(connection, repo_id, path, new_chunks)


async def _note(
    connection: Connection, repo_id: int, place: Place, snapshot: Snapshot, position: Position, at: datetime
) -> None:
    """Note which state of its file a forgotten document was kept out in, so that it is not offered again."""
    await put(connection, place.id, repo_id, manifest_columns(snapshot, position, place.state, place.reason, at))


async def _replace_in_generations(connection: Connection, place: Place, write: DocumentWrite) -> None:
    held = await held_chunks(connection, place.id) if place.exists else {}
    wanted: dict[int, Sequence[ChunkWrite]] = {**dict.fromkeys(held, ()), **write.chunks}
    await replace_chunks(connection, place.id, wanted, held, place.chunk_ids)
    await connection.execute(
        """
        WITH others AS (DELETE FROM document_generation WHERE document_id = $1 AND generation_id <> ALL($2::int[]))
        INSERT INTO document_generation (generation_id, document_id) SELECT g, $1 FROM unnest($2::int[]) g
        ON CONFLICT DO NOTHING
        """,
        place.id, list(write.chunks),
    )  # fmt: skip


async def _drop_contents(connection: Connection, place: Place, *, cache: bool) -> None:
    """Drop all that hangs on a document's row."""
    if not place.exists:
        return
    held = await held_chunks(connection, place.id)
    ids = [id_ for hashes in held.values() for ids in hashes.values() for id_ in ids]
    await drop_chunks(connection, ids, cache=cache)
    await connection.execute(
        "WITH edges AS (DELETE FROM edge WHERE document_id = $1) "
        "DELETE FROM document_generation WHERE document_id = $1",
        place.id,
    )


async def _empty_as(
    connection: Connection, repo_id: int, path: str, place: Place, state: str, reason: str, at: datetime
) -> None:
    """Change where a document stands without a new snapshot; what was read from its file goes."""
    where = {"path": path, "epoch": place.position.epoch, "seq": place.position.seq}
    columns = {**where, "state": state, "reason": reason, "changed_at": at, **NOTHING_READ}
    await put(connection, place.id, repo_id, columns)


_DROP_CACHED = """
    DELETE FROM embedding_cache WHERE (embedder_fingerprint, hash) IN (
        SELECT embedder_fingerprint, hash FROM embedding_cache
        WHERE hash IN (SELECT hash FROM chunk WHERE document_id = $1) ORDER BY 1, 2 FOR UPDATE
    )
"""
