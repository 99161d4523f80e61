"""Documents, read: whole, as the manifest that a watcher compares with, and as the stream of what changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recalld.errors import UsageError
from recalld.model import DocumentState, FileStat, ManifestEntry, Position
from recalld.store.database import Connection, Database
from recalld.store.edges import edge_of
from recalld.store.rows import DocumentChange, StoredDocument, StoredPassage
from recalld.store.text import escape_all, unescape_all

_MANIFEST = """
    SELECT path, state, content_hash, size, mtime_ns, ctime_ns, inode, epoch, seq FROM document WHERE repo_id = $1
"""
_DOCUMENT = "SELECT d.*, r.name AS repo FROM document d JOIN repo r ON r.id = d.repo_id WHERE d.text IS NOT NULL"


class DocumentReading:
    """Reads documents; everything here may be asked at any time."""

    def __init__(self, database: Database) -> None:
        self._reads = database

    async def known(self, generation_id: int, places: Sequence[tuple[int, str]]) -> list[set[str]]:
        """Return for each place (repo id and path) the hashes of the chunks that a generation holds of it."""
        async with self._reads.session() as connection:
            rows = await connection.fetch(
                """
                SELECT p.place, c.hash
                FROM unnest($2::int[], $3::text[]) WITH ORDINALITY AS p (repo_id, path, place)
                JOIN document d ON d.repo_id = p.repo_id AND d.path = p.path
                JOIN chunk c ON c.document_id = d.id AND c.generation_id = $1
                """,
                generation_id, [repo_id for repo_id, _ in places], escape_all([path for _, path in places]),
            )  # fmt: skip
        known: list[set[str]] = [set() for _ in places]
        for row in rows:
            known[row["place"] - 1].add(row["hash"])
        return known

    async def get(self, repo: str, path: str) -> StoredDocument | None:
        """Return a document by its path; None when nothing is held of it."""
        async with self._reads.glimpse() as connection:
            row = await connection.fetchrow(f"{_DOCUMENT} AND r.name = $1 AND d.path = $2", repo, path)
            return await _document(connection, row) if row else None

    async def of_chunk(self, chunk_id: int) -> StoredDocument | None:
        """Return the document that a chunk stands in; None when there is no such chunk."""
        if chunk_id >= 1 << 63:
            return None
        async with self._reads.glimpse() as connection:
            row = await connection.fetchrow(
                f"{_DOCUMENT} AND d.id = (SELECT document_id FROM chunk WHERE id = $1)", chunk_id
            )
            return await _document(connection, row) if row else None

    async def manifest(self, repo_id: int, *, after: str | None, limit: int) -> list[ManifestEntry]:
        """Return what the index believes of a repo's paths, tombstones included, in byte order after a path."""
        async with self._reads.session() as connection:
            rows = await connection.fetch(
                f"{_MANIFEST} AND ($2::text IS NULL OR path > $2) ORDER BY path LIMIT $3", repo_id, after, limit
            )
        return [_entry(row) for row in rows]

    async def manifest_of(self, repo_id: int, paths: Sequence[str]) -> list[ManifestEntry]:
        """Return what the index believes of some paths; unknown ones are left out."""
        async with self._reads.session() as connection:
            rows = await connection.fetch(f"{_MANIFEST} AND path = ANY($2::text[])", repo_id, escape_all(paths))
        return [_entry(row) for row in rows]

    async def texts(self, repo_id: int, *, after: str | None, limit: int) -> list[tuple[str, str]]:
        """Return paths and texts of a repo's documents, in byte order after a path."""
        async with self._reads.session() as connection:
            rows = await connection.fetch(
                """
                SELECT path, text FROM document
                WHERE repo_id = $1 AND text IS NOT NULL AND ($2::text IS NULL OR path > $2) ORDER BY path LIMIT $3
                """,
                repo_id, after, limit,
            )  # fmt: skip
        return [(row["path"], row["text"]) for row in rows]

    async def delta(
        self, since: str, *, limit: int, repo: str | None, agent: str
    ) -> tuple[list[DocumentChange], str, bool]:
        """Return changes after a cursor in commit order, the next cursor, and whether there are more.

        A change is shown once no transaction that could still commit before it is under way, so that none is ever
        missed. Raises UsageError for a cursor that is none, or is of another database.
        """
        xid, id_ = _cursor(since)
        async with self._reads.session() as connection:
            if xid and await connection.fetchval(
                "SELECT $1::text::xid8 >= pg_snapshot_xmax(pg_current_snapshot())", str(xid)
            ):
                raise UsageError("this cursor is of another database", suggestion="start again with an empty --since")
            rows = await connection.fetch(
                """
                SELECT d.id, d.path, d.state, d.content_hash, d.epoch, d.seq, d.changed_at, d.changed_in::text AS xid,
                       r.name AS repo
                FROM document d JOIN repo r ON r.id = d.repo_id
                WHERE (d.changed_in, d.id) > ($1::text::xid8, $2::bigint)
                  AND d.changed_in < pg_snapshot_xmin(pg_current_snapshot())
                  AND ($4::text IS NULL OR r.name = $4) AND (r.visible_to = '{}' OR $5 = ANY(r.visible_to))
                ORDER BY d.changed_in, d.id LIMIT $3
                """,
                str(xid), id_, limit + 1, repo, agent,
            )  # fmt: skip
        page = rows[:limit]
        cursor = f"{page[-1]['xid']}-{page[-1]['id']}" if page else since
        return [_change(row) for row in page], cursor, len(rows) > limit


def _cursor(text: str) -> tuple[int, int]:
    if not text:
        return 0, 0
    parts = text.split("-")
    if len(parts) != 2 or not all(part.isdecimal() and len(part) < 19 for part in parts):
        raise UsageError(f"{text!r} is not a cursor", suggestion="give the cursor of an earlier reply, or none")
    return int(parts[0]), int(parts[1])


async def _document(connection: Connection, row: Any) -> StoredDocument:
    chunks = await connection.fetch(
        """
        SELECT id, heading, first_line, last_line, tokens FROM chunk WHERE document_id = $1
        AND generation_id = (SELECT id FROM generation WHERE state = 'serving') ORDER BY ordinal
        """,
        row["id"],
    )
    edges = await connection.fetch("SELECT * FROM edge WHERE document_id = $1 ORDER BY line, kind, target", row["id"])
    return document_of(row, chunks, edges)


def document_of(row: Any, chunks: Sequence[Any] = (), edges: Sequence[Any] = ()) -> StoredDocument:
    """Return a row of document, with the name of its repo, as a value."""
    return StoredDocument(
        id=row["id"],
        repo=row["repo"],
        path=row["path"],
        title=row["title"],
        kind=row["kind"],
        tags=unescape_all(row["tags"]),
        aliases=unescape_all(row["aliases"]),
        metadata=row["metadata"],
        text=row["text"],
        chunks=tuple(
            StoredPassage(
                chunk["id"], unescape_all(chunk["heading"]), (chunk["first_line"], chunk["last_line"]), chunk["tokens"]
            )
            for chunk in chunks
        ),
        edges=tuple(map(edge_of, edges)),
        content_hash=row["text_hash"],
        commit=row["text_commit"],
        indexed_at=row["indexed_at"],
        first_indexed_at=row["first_indexed_at"],
        position=Position(row["epoch"], row["seq"]),
        agent=row["agent"],
        modified_at=row["modified_at"],
    )


def _entry(row: Any) -> ManifestEntry:
    stat = None
    if row["size"] is not None:
        stat = FileStat(row["size"], int(row["mtime_ns"]), int(row["ctime_ns"]), int(row["inode"]))
    return ManifestEntry(
        row["path"], DocumentState(row["state"]), row["content_hash"], stat, Position(row["epoch"], row["seq"])
    )


def _change(row: Any) -> DocumentChange:
    return DocumentChange(
        row["repo"],
        row["path"],
        DocumentState(row["state"]),
        row["content_hash"],
        Position(row["epoch"], row["seq"]),
        row["changed_at"],
    )
