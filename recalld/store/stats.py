"""The index in numbers."""

from __future__ import annotations

from recalld.store.database import Database
from recalld.store.rows import GenerationRow, RepoRow, Totals


class Stats:
    """Counts; each call is one query."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def totals(self) -> Totals:
        """Return what freshness is told by; cheap enough for every reply."""
        async with self._database.session() as connection:
            row = await connection.fetchrow(
                """
                SELECT (SELECT max(indexed_at) FROM document) AS newest,
                       (SELECT count(*) FROM document WHERE state = 'failed') AS failed,
                       (SELECT count(*) FROM finding WHERE source = 'watch' AND code IN ('not-published', 'unreadable'))
                       AS stale
                """
            )
        assert row is not None
        return Totals(row["newest"], row["failed"], row["stale"])

    async def generations(self) -> list[GenerationRow]:
        """Return the generations with how much of the corpus each holds."""
        async with self._database.session() as connection:
            rows = await connection.fetch(
                """
                SELECT g.id, g.fingerprint, g.embedder, g.state,
                       (SELECT count(*) FROM document_generation x WHERE x.generation_id = g.id) AS documents,
                       (SELECT count(*) FROM document WHERE text IS NOT NULL) AS total
                FROM generation g ORDER BY g.id
                """
            )
        return [GenerationRow(**dict(row)) for row in rows]

    async def repos(self, name: str | None) -> list[RepoRow]:
        """Return one repo or all in numbers; chunks are those of the serving generation."""
        async with self._database.session() as connection:
            rows = await connection.fetch(
                """
                WITH serving AS (SELECT id FROM generation WHERE state = 'serving'),
                counted AS (
                    SELECT d.repo_id, count(*) AS chunks FROM chunk c JOIN document d ON d.id = c.document_id
                    WHERE c.generation_id = (SELECT id FROM serving) GROUP BY d.repo_id
                )
                SELECT r.name, r.path, r.node, r.state, r.commit, r.scanned_at,
                       count(*) FILTER (WHERE d.text IS NOT NULL) AS documents,
                       coalesce(max(counted.chunks), 0) AS chunks,
                       count(*) FILTER (WHERE d.state = 'skipped') AS skipped,
                       count(*) FILTER (WHERE d.state = 'failed') AS failed,
                       count(*) FILTER (WHERE d.state = 'forgotten') AS forgotten,
                       max(d.indexed_at) AS newest_indexed_at
                FROM repo r LEFT JOIN document d ON d.repo_id = r.id LEFT JOIN counted ON counted.repo_id = r.id
                WHERE NOT r.removed AND ($1::text IS NULL OR r.name = $1) GROUP BY r.id ORDER BY r.name
                """,
                name,
            )
        return [RepoRow(**dict(row)) for row in rows]

    async def database_bytes(self) -> int:
        """Return what the database takes on disk."""
        async with self._database.session() as connection:
            return int(await connection.fetchval("SELECT pg_database_size(current_database())"))
