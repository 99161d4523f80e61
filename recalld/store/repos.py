"""The register of repos."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime

import asyncpg

from recalld.model import Repo
from recalld.store import locks
from recalld.store.chunk_writing import drop_chunks
from recalld.store.database import Database
from recalld.store.text import escape_all, unescape_all

KNOWN_FOR_S = 1.0
"""How long another node's change to the register may go unseen by :meth:`Repos.get`."""
_BITE = 100
"""Documents that are dropped in one transaction."""


class Repos:
    """Registered repos, by name."""

    def __init__(self, database: Database, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._monotonic = monotonic
        self._known: dict[str, Repo] = {}
        self._until = 0.0
        self._changes = 0

    async def add(self, repo: Repo, *, by: str, at: datetime) -> Repo:
        """Register a repo, or change how it is watched; return it with its id."""
        async with self._database.session() as connection:
            row = await connection.fetchrow(
                """
                INSERT INTO repo (name, path, node, include, exclude, read_only, visible_to, added_by, added_at)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
                ON CONFLICT (name) DO UPDATE SET path = excluded.path, node = excluded.node,
                    include = excluded.include, exclude = excluded.exclude,
                    read_only = excluded.read_only, visible_to = excluded.visible_to
                RETURNING *
                """,
                repo.name, repo.path, repo.node, escape_all(repo.include), escape_all(repo.exclude), repo.read_only,
                escape_all(repo.visible_to), by, at,
            )  # fmt: skip
        self._until = 0.0
        self._changes += 1
        assert row is not None
        return _repo(row)

    async def get(self, name: str) -> Repo | None:
        """Return a repo. A change of another node is seen within a second, one of this node at once."""
        if self._monotonic() < self._until and name in self._known:
            return self._known[name]
        return next((repo for repo in await self.list() if repo.name == name), None)

    async def list(self, node: str | None = None) -> list[Repo]:
        """Return the repos of a node, or all, by name."""
        changes = self._changes
        async with self._database.session() as connection:
            rows = await connection.fetch("SELECT * FROM repo WHERE NOT removed ORDER BY name")
        found = {row["name"]: _repo(row) for row in rows}
        if changes == self._changes:  # else this was read before a change of this node, and must not outlive it
            self._known, self._until = found, self._monotonic() + KNOWN_FOR_S
        return [repo for repo in found.values() if node in (None, repo.node)]

    async def remove(self, name: str) -> int:
        """Drop a repo with all that is indexed of it; return how many documents that were.

        It is out of sight at once; what it held goes a few documents at a time.
        """
        async with self._database.writing(alone=[locks.STRUCTURE], durable=True) as connection:
            id_ = await connection.fetchval("SELECT id FROM repo WHERE name = $1", name)
            documents: int = await connection.fetchval("SELECT count(text) FROM document WHERE repo_id = $1", id_)
            await connection.execute(
                "UPDATE repo SET removed = true, name = '~' || id || '~' || name, visible_to = '{~}' WHERE id = $1", id_
            )
        self._until = 0.0
        self._changes += 1
        self._known.pop(name, None)
        while await self.drop_removed():
            pass
        return documents

    async def drop_removed(self) -> bool:
        """Drop a bite of what removed repos held; False once there is none."""
        async with self._database.session() as connection:
            id_ = await connection.fetchval("SELECT id FROM repo WHERE removed ORDER BY id LIMIT 1")
            if id_ is None:
                return False
            rows = await connection.fetch("SELECT id, path FROM document WHERE repo_id = $1 LIMIT $2", id_, _BITE)
            if not rows:
                await connection.execute("DELETE FROM repo WHERE id = $1", id_)
                return True
        documents = [row["id"] for row in rows]
        keys = locks.documents((id_, row["path"]) for row in rows)
        async with self._database.writing(shared=[locks.STRUCTURE], alone=keys) as connection:
            chunks = await connection.fetch("SELECT id FROM chunk WHERE document_id = ANY($1::bigint[])", documents)
            await drop_chunks(connection, [row["id"] for row in chunks], cache=False)
            await connection.execute("DELETE FROM document WHERE id = ANY($1::bigint[])", documents)
        return True

    async def observe(self, name: str, *, state: str | None, commit: str | None, scanned_at: datetime | None) -> None:
        """Note what the watching node says; None leaves what was said before."""
        async with self._database.session() as connection:
            await connection.execute(
                """
                UPDATE repo SET state = coalesce($2, state), commit = coalesce($3, commit),
                    scanned_at = coalesce($4, scanned_at) WHERE name = $1
                """,
                name, state, commit, scanned_at,
            )  # fmt: skip


def _repo(row: asyncpg.Record) -> Repo:
    return Repo(
        name=row["name"],
        path=row["path"],
        node=row["node"],
        include=unescape_all(row["include"]),
        exclude=unescape_all(row["exclude"]),
        read_only=row["read_only"],
        visible_to=unescape_all(row["visible_to"]),
        id=row["id"],
    )
