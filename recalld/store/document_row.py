"""A document's row: what it takes to write it, and how a write is judged by what stands there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from recalld.errors import RetryLater
from recalld.model import DocumentState, ParsedDocument, Position, Snapshot
from recalld.store.database import Connection
from recalld.store.rows import DocumentWrite, Outcome
from recalld.store.text import escape_all
from recalld.trust.graph import Member
from recalld.trust.names import ids_of

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIND = """
    SELECT d.id, d.state, d.epoch, d.seq, d.reason,
           CASE WHEN d.id IS NULL THEN nextval('document_id_seq') END AS fresh,
           ARRAY(SELECT nextval('chunk_id_seq') FROM generate_series(1, $3)) AS chunk_ids,
           ARRAY(SELECT id FROM generation WHERE state <> 'retired') AS live
    FROM repo r LEFT JOIN document d ON d.repo_id = r.id AND d.path = $2 WHERE r.id = $1 AND NOT r.removed
"""


@dataclass(frozen=True, slots=True)
class Place:
    """What stands at a path before a write: a document's row, or none yet; and ids for new rows."""

    id: int
    exists: bool
    state: str
    position: Position
    reason: str
    chunk_ids: Iterator[int]
    live: frozenset[int]

    def judge(self, position: Position) -> Outcome:
        """Tell what a write from a position comes to. The same position again is written again."""
        if not self.exists:
            return Outcome.WRITTEN
        if position < self.position:
            return Outcome.STALE
        return Outcome.FORGOTTEN if self.state == DocumentState.FORGOTTEN else Outcome.WRITTEN


async def find_place(connection: Connection, repo_id: int, path: str, new_chunks: int = 0) -> Place:
    """Return what stands at a path whose lock is held. Raises RetryLater when its repo has gone."""
    row = await connection.fetchrow(_FIND, repo_id, path, new_chunks)
    if row is None:
        raise RetryLater(f"the repo of {path} was removed")
    return Place(
        id=row["id"] or row["fresh"],
        exists=row["id"] is not None,
        state=row["state"] or "",
        position=Position(row["epoch"] or 0, row["seq"] or 0),
        reason=row["reason"] or "",
        chunk_ids=iter(row["chunk_ids"]),
        live=frozenset(row["live"]),
    )


def manifest_columns(snapshot: Snapshot, position: Position, state: str, reason: str, at: datetime) -> dict[str, Any]:
    """Return the columns that say what was seen of a file."""
    stat = snapshot.stat
    return {
        "path": snapshot.path,
        "state": state,
        "reason": reason,
        "content_hash": snapshot.content_hash,
        "size": stat and stat.size,
        "mtime_ns": stat and stat.mtime_ns,
        "ctime_ns": stat and stat.ctime_ns,
        "inode": stat and stat.inode,
        "epoch": position.epoch,
        "seq": position.seq,
        "agent": snapshot.agent,
        "changed_at": at,
    }


def content_columns(write: DocumentWrite) -> dict[str, Any]:
    """Return the columns that say what was read from a file."""
    parsed, stat = write.parsed, write.snapshot.stat
    return {
        "text": parsed.text,
        "text_hash": write.snapshot.content_hash,
        "text_commit": write.snapshot.commit,
        **said_columns(parsed),
        "modified_at": stat and _moment(stat.mtime_ns),
        "indexed_at": write.at,
        "first_indexed_at": write.at,
    }


def said_columns(parsed: ParsedDocument) -> dict[str, Any]:
    """Return the columns that say what a document says of itself."""
    known = Member(0, "", parsed.path, parsed.title, ids_of(parsed.metadata, parsed.aliases))
    return {
        "title": parsed.title,
        "kind": parsed.kind,
        "tags": escape_all(parsed.tags),
        "aliases": escape_all(parsed.aliases),
        "metadata": parsed.metadata,
        "names": escape_all(sorted(known.keys)),
    }


NOTHING_READ: Mapping[str, Any] = {
    "text": None,
    "text_hash": None,
    "text_commit": None,
    "title": "",
    "kind": "",
    "tags": (),
    "aliases": (),
    "metadata": {},
    "names": (),
    "modified_at": None,
    "indexed_at": None,
}
"""The columns of a document of which nothing is held; when it was first indexed stays known."""


async def put(connection: Connection, id_: int, repo_id: int, columns: Mapping[str, Any]) -> None:
    """Write columns of a document's row, making it where there is none."""
    await connection.execute(_put(tuple(columns)), id_, repo_id, *columns.values())


async def restate(connection: Connection, id_: int, parsed: ParsedDocument) -> None:
    """Write again what a document says of itself, of the same text: nothing changed for those who follow changes."""
    columns = said_columns(parsed)
    news = ", ".join(f"{name} = ${number}" for number, name in enumerate(columns, start=2))
    await connection.execute(f"UPDATE document SET {news} WHERE id = $1", id_, *columns.values())


_FIRST = "first_indexed_at"


def _put(names: Sequence[str]) -> str:
    values = ", ".join(f"${number}" for number in range(3, 3 + len(names)))
    news = ", ".join(f"{name} = excluded.{name}" for name in names if name != _FIRST)
    first = f", {_FIRST} = coalesce(d.{_FIRST}, excluded.{_FIRST})" if _FIRST in names else ""
    return f"""
        INSERT INTO document AS d (id, repo_id, {", ".join(names)}) OVERRIDING SYSTEM VALUE VALUES ($1, $2, {values})
        ON CONFLICT (repo_id, path) DO UPDATE SET {news}{first}, changed_in = pg_current_xact_id()
    """


def _moment(nanoseconds: int) -> datetime | None:
    """Return a file's time; None where it is beyond the years that anyone counts."""
    try:
        return _EPOCH + timedelta(microseconds=nanoseconds // 1_000)
    except OverflowError:
        return None
