"""Documents: what is indexed, what was seen, what is gone. One transaction a document, guarded by its position."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from recalld.model import DocumentState, Operation, Position, Snapshot
from recalld.store.chunk_writing import drop_document_chunks, replace_chunks
from recalld.store.database import Connection, Database
from recalld.store.document_reading import DocumentReading
from recalld.store.rows import DocumentWrite, Outcome


class Documents(DocumentReading):
    """Writes documents and tombstones; reading is in the base."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._database = database

    async def write(self, write: DocumentWrite) -> Outcome:
        """Index a document: row, edges and chunks, whole or not at all.

        Its chunks in generations that ``write`` does not name are dropped, to be made anew from the new text.
        Raises RetryLater when a generation or a chunk went away meanwhile, or another writer was faster.
        """
        async with self._database.writing() as connection:
            known = await _lock(connection, write.repo_id, write.snapshot.path)
            outcome = _judge(known, write.position)
            if outcome is Outcome.FORGOTTEN:
                await _touch(connection, write.repo_id, write.snapshot, write.position, "forgotten", "", write.at)
            if outcome is not Outcome.WRITTEN:
                return outcome
            id_ = await _touch(connection, write.repo_id, write.snapshot, write.position, "indexed", "", write.at)
            await _fill(connection, id_, write)
            await drop_document_chunks(connection, id_, cache=True, except_in=list(write.chunks))
            for generation_id, chunks in write.chunks.items():
                await replace_chunks(connection, id_, generation_id, chunks)
            return outcome

    async def delete(self, repo_id: int, path: str, position: Position, *, at: datetime) -> Outcome:
        """Drop a document and leave a tombstone with its position."""
        snapshot = Snapshot("", path, Operation.DELETE)
        return await self._empty(repo_id, snapshot, position, "deleted", "", at)

    async def skip(self, repo_id: int, snapshot: Snapshot, position: Position, *, at: datetime) -> Outcome:
        """Note a file that is left out on purpose; what was indexed of it goes."""
        return await self._empty(repo_id, snapshot, position, "skipped", snapshot.skip or "", at)

    async def _empty(
        self, repo_id: int, snapshot: Snapshot, position: Position, state: str, reason: str, at: datetime
    ) -> Outcome:
        async with self._database.writing() as connection:
            outcome = _judge(await _lock(connection, repo_id, snapshot.path), position)
            if outcome is Outcome.STALE:
                return outcome
            kept = "forgotten" if outcome is Outcome.FORGOTTEN else state
            id_ = await _touch(connection, repo_id, snapshot, position, kept, reason, at)
            await _clear(connection, id_, cache=outcome is Outcome.WRITTEN)
            return outcome

    async def fail(self, repo_id: int, snapshot: Snapshot, position: Position, reason: str, *, at: datetime) -> Outcome:
        """Note that a state of a file could not be indexed. What was indexed before goes on being served."""
        async with self._database.writing() as connection:
            outcome = _judge(await _lock(connection, repo_id, snapshot.path), position)
            if outcome is Outcome.WRITTEN:
                await _touch(connection, repo_id, snapshot, position, "failed", reason, at)
            return outcome

    async def forget(self, repo_id: int, path: str, *, by: str, at: datetime) -> int:
        """Drop a document's text for good and keep it out; return how many chunks went."""
        async with self._database.session() as connection, connection.transaction():
            known = await _lock(connection, repo_id, path)
            if known is None:
                return 0
            chunks: int = await connection.fetchval(
                "SELECT count(*) FROM chunk WHERE document_id = $1 AND generation_id IN "
                "(SELECT id FROM generation WHERE state = 'serving')",
                known["id"],
            )
            await connection.execute(
                "DELETE FROM embedding_cache WHERE hash IN (SELECT hash FROM chunk WHERE document_id = $1)", known["id"]
            )
            await _clear(connection, known["id"], cache=False)
            await _set_state(connection, known["id"], "forgotten", f"forgotten by {by}", at)
            return chunks

    async def unforget(self, repo_id: int, path: str, *, by: str, at: datetime) -> bool:
        """Let a forgotten document in again, once its file is looked at; False when it was not forgotten."""
        async with self._database.session() as connection, connection.transaction():
            known = await _lock(connection, repo_id, path)
            if known is None or known["state"] != "forgotten":
                return False
            await _set_state(connection, known["id"], "deleted", f"let in again by {by}", at)
            return True

    async def prune_tombstones(self, before: datetime) -> int:
        """Drop the tombstones of what was deleted before a time; return how many."""
        async with self._database.session() as connection:
            done = await connection.execute("DELETE FROM document WHERE state = 'deleted' AND changed_at < $1", before)
        return int(done.split()[-1])


async def _lock(connection: Connection, repo_id: int, path: str) -> Any:
    """Keep other writers of this document out until the transaction ends; return its row."""
    await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", f"{repo_id}:{path}")
    return await connection.fetchrow(
        "SELECT id, state, epoch, seq FROM document WHERE repo_id = $1 AND path = $2", repo_id, path
    )


def _judge(known: Any, position: Position) -> Outcome:
    if known is None:
        return Outcome.WRITTEN
    if position < Position(known["epoch"], known["seq"]):
        return Outcome.STALE
    return Outcome.FORGOTTEN if known["state"] == DocumentState.FORGOTTEN else Outcome.WRITTEN


async def _touch(
    connection: Connection,
    repo_id: int,
    snapshot: Snapshot,
    position: Position,
    state: str,
    reason: str,
    at: datetime,
) -> int:
    """Write the manifest part of a row; return its id."""
    stat = snapshot.stat
    return int(
        await connection.fetchval(
            """
            INSERT INTO document (repo_id, path, state, reason, content_hash, size, mtime_ns, ctime_ns, inode,
                                  epoch, seq, agent, changed_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
            ON CONFLICT (repo_id, path) DO UPDATE SET state = excluded.state, reason = excluded.reason,
                content_hash = excluded.content_hash, size = excluded.size, mtime_ns = excluded.mtime_ns,
                ctime_ns = excluded.ctime_ns, inode = excluded.inode, epoch = excluded.epoch, seq = excluded.seq,
                agent = excluded.agent, changed_at = excluded.changed_at, changed_in = pg_current_xact_id()
            RETURNING id
            """,
            repo_id,
            snapshot.path,
            state,
            reason,
            snapshot.content_hash,
            stat and stat.size,
            stat and stat.mtime_ns,
            stat and stat.ctime_ns,
            stat and stat.inode,
            position.epoch,
            position.seq,
            snapshot.agent,
            at,
        )
    )


async def _fill(connection: Connection, id_: int, write: DocumentWrite) -> None:
    """Write what was read from the file."""
    parsed, stat = write.parsed, write.snapshot.stat
    await connection.execute(
        """
        UPDATE document SET text = $2, text_hash = $3, text_commit = $4, title = $5, kind = $6, tags = $7,
            aliases = $8, metadata = $9::jsonb, modified_at = to_timestamp($10::float8), indexed_at = $11,
            first_indexed_at = coalesce(first_indexed_at, $11) WHERE id = $1
        """,
        id_, parsed.text, write.snapshot.content_hash, write.snapshot.commit, parsed.title, parsed.kind,
        list(parsed.tags), list(parsed.aliases), json.dumps(dict(parsed.metadata)),
        stat.mtime_ns / 1e9 if stat else None, write.at,
    )  # fmt: skip
    await connection.execute("DELETE FROM edge WHERE document_id = $1", id_)
    if parsed.edges:
        await connection.executemany(
            "INSERT INTO edge (document_id, kind, target, source, key, line) VALUES ($1, $2, $3, $4, $5, $6)",
            [(id_, edge.kind, edge.target, edge.source, edge.key, edge.line) for edge in parsed.edges],
        )


async def _clear(connection: Connection, id_: int, *, cache: bool) -> None:
    """Drop what was read from the file."""
    await drop_document_chunks(connection, id_, cache=cache)
    await connection.execute("DELETE FROM edge WHERE document_id = $1", id_)
    await connection.execute(
        """
        UPDATE document SET text = NULL, text_hash = NULL, text_commit = NULL, title = '', kind = '', tags = '{}',
            aliases = '{}', metadata = '{}', modified_at = NULL, indexed_at = NULL WHERE id = $1
        """,
        id_,
    )


async def _set_state(connection: Connection, id_: int, state: str, reason: str, at: datetime) -> None:
    await connection.execute(
        "UPDATE document SET state = $2, reason = $3, changed_at = $4, changed_in = pg_current_xact_id() WHERE id = $1",
        id_, state, reason, at,
    )  # fmt: skip
