"""Documents that were put in, as the index has them: told by the keys of their frontmatter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recalld.store.database import Database

_PUT = "d.metadata ? 'put_by' AND d.metadata ? 'source' AND d.state NOT IN ('deleted', 'forgotten')"


@dataclass(frozen=True, slots=True)
class StoredPut:
    """A put document: ``text`` is its file as it was indexed, with LF line ends."""

    repo: str
    path: str
    state: str
    text: str


class Puts:
    """Reads put documents."""

    def __init__(self, database: Database) -> None:
        self._reads = database

    async def of_source(self, repo_id: int, source: str) -> list[str]:
        """Return the paths of a repo's documents that are from a source."""
        async with self._reads.session() as connection:
            rows = await connection.fetch(
                f"SELECT d.path FROM document d WHERE {_PUT} "
                "AND d.repo_id = $1 AND d.metadata->>'source' = $2 ORDER BY d.path",
                repo_id,
                source,
            )
        return [row["path"] for row in rows]

    async def state(self, repo_id: int, path: str) -> str:
        """Return the state of whatever the index knows at a path; empty where it knows nothing."""
        async with self._reads.session() as connection:
            found = await connection.fetchval(
                "SELECT state FROM document WHERE repo_id = $1 AND path = $2", repo_id, path
            )
        return found or ""

    async def list(self, repo_ids: Sequence[int], after: tuple[str, str], limit: int) -> list[StoredPut]:
        """Return put documents of repos by the repo's name and path, those after a place."""
        async with self._reads.session() as connection:
            rows = await connection.fetch(
                f"""
                SELECT r.name AS repo, d.path, d.state, d.text FROM document d JOIN repo r ON r.id = d.repo_id
                WHERE d.repo_id = ANY($1::int[]) AND {_PUT} AND d.text IS NOT NULL AND (r.name, d.path) > ($2, $3)
                ORDER BY r.name, d.path LIMIT $4
                """,
                list(repo_ids), *after, limit,
            )  # fmt: skip
        return [StoredPut(**dict(row)) for row in rows]
