"""Lessons as the index has them, those that it has not seen yet, and the runs that moved some away."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from recalld.store import locks
from recalld.store.database import Database

KEPT = timedelta(days=1)
"""A lesson that was written is looked for beside the index for so long at most."""
_CAUGHT_UP = """
    DELETE FROM lesson_written w USING document d
    WHERE w.repo_id = $1 AND d.repo_id = w.repo_id AND d.path = w.path AND d.content_hash = w.content_hash
"""


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A file of procedural memory. ``id`` is 0 for one that is not indexed yet; ``text`` has LF line ends."""

    id: int
    repo: str
    path: str
    title: str
    kind: str
    metadata: Mapping[str, Any]
    text: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class Moved:
    """A file that a run moved; ``content_hash`` is that of its bytes."""

    path: str
    to: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class Run:
    """A run that moved files away, and made ``made`` (path and content hash) in their place where it merged some."""

    id: str
    repo: str
    kind: str
    at: datetime
    agent: str
    moves: tuple[Moved, ...]
    made: tuple[tuple[str, str], ...] = ()
    undone_at: datetime | None = None


class Lessons:
    """Reads procedural memory, and keeps account of what was done to it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def memory(self, repo_id: int, kinds: Sequence[str]) -> list[MemoryFile]:
        """Return a repo's indexed files of some kinds, by path."""
        async with self._database.session() as connection:
            rows = await connection.fetch(
                """
                SELECT d.id, r.name AS repo, d.path, d.title, d.kind, d.metadata, d.text, d.content_hash
                FROM document d JOIN repo r ON r.id = d.repo_id
                WHERE d.repo_id = $1 AND d.kind = ANY($2::text[]) AND d.state = 'indexed' AND d.text IS NOT NULL
                ORDER BY d.path
                """,
                repo_id, list(kinds),
            )  # fmt: skip
        return [MemoryFile(**dict(row)) for row in rows]

    @asynccontextmanager
    async def turn(self, repo_id: int) -> AsyncIterator[None]:
        """Be the only one, on all nodes, that writes lessons of a repo; others wait. Holds a connection meanwhile."""
        async with self._database.writing(alone=[locks.lessons(repo_id)]):
            yield

    async def unindexed(self, repo_id: int, repo: str) -> list[MemoryFile]:
        """Return the lessons that were written a short while ago and that the index does not hold as written."""
        async with self._database.session() as connection:
            await connection.execute(_CAUGHT_UP, repo_id)
            rows = await connection.fetch(
                "SELECT path, text, content_hash FROM lesson_written WHERE repo_id = $1 ORDER BY path", repo_id
            )
        return [MemoryFile(0, repo, row["path"], "", "lesson", {}, row["text"], row["content_hash"]) for row in rows]

    async def written(self, repo_id: int, path: str, text: str, content_hash: str, at: datetime) -> None:
        """Note a lesson that was just written, until the index holds it."""
        async with self._database.session() as connection:
            await connection.execute("DELETE FROM lesson_written WHERE at < $1", at - KEPT)
            await connection.execute(
                """
                INSERT INTO lesson_written VALUES ($1, $2, $4, $3, $5) ON CONFLICT (repo_id, path)
                DO UPDATE SET content_hash = excluded.content_hash, text = excluded.text, at = excluded.at
                """,
                repo_id, path, text, content_hash, at,
            )  # fmt: skip

    async def not_there(self, repo_id: int, path: str) -> None:
        """Forget that a lesson was written: its file is gone, or is another now."""
        async with self._database.session() as connection:
            await connection.execute("DELETE FROM lesson_written WHERE repo_id = $1 AND path = $2", repo_id, path)

    async def add_run(self, repo_id: int, run: Run) -> None:
        """Note a run before it moves anything; survives a crash."""
        moves = {
            "moves": [[each.path, each.to, each.content_hash] for each in run.moves],
            "made": [list(each) for each in run.made],
        }
        async with self._database.writing(durable=True) as connection:
            await connection.execute(
                "INSERT INTO lesson_run (id, repo_id, kind, at, agent, moves) VALUES ($1, $2, $3, $4, $5, $6)",
                run.id, repo_id, run.kind, run.at, run.agent, moves,
            )  # fmt: skip

    async def drop_run(self, id_: str) -> None:
        """Forget a run that moved nothing."""
        async with self._database.writing(durable=True) as connection:
            await connection.execute("DELETE FROM lesson_run WHERE id = $1", id_)

    async def undone(self, id_: str, at: datetime) -> None:
        """Note that a run was undone."""
        async with self._database.writing(durable=True) as connection:
            await connection.execute("UPDATE lesson_run SET undone_at = $2 WHERE id = $1", id_, at)

    async def runs(self, repo_ids: Sequence[int], *, id_: str | None = None, limit: int = 50) -> list[Run]:
        """Return the newest runs of repos, or the one of an id."""
        async with self._database.session() as connection:
            rows = await connection.fetch(
                """
                SELECT x.*, r.name AS repo FROM lesson_run x JOIN repo r ON r.id = x.repo_id
                WHERE x.repo_id = ANY($1::int[]) AND ($2::text IS NULL OR x.id = $2)
                ORDER BY x.at DESC, x.id LIMIT $3
                """,
                list(repo_ids), id_, limit,
            )  # fmt: skip
        return [_run(row) for row in rows]


def _run(row: Any) -> Run:
    return Run(
        row["id"],
        row["repo"],
        row["kind"],
        row["at"],
        row["agent"],
        tuple(Moved(*each) for each in row["moves"]["moves"]),
        tuple((path, content_hash) for path, content_hash in row["moves"]["made"]),
        row["undone_at"],
    )
