"""Calibrations: kept as plain JSON, with what is needed to make one and to see that it has aged."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import anyio

from recalld.store import locks
from recalld.store.database import Database
from recalld.store.rows import CalibrationRow, CorpusSize, SampledPassage
from recalld.store.text import unescape_all

_OPEN_TO_ALL = "r.visible_to = '{}' AND NOT r.removed"


class Calibrations:
    """Keeps one row a fit; the newest of a generation counts."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(
        self,
        generation_id: int,
        *,
        model: Mapping[str, Any],
        probes: Sequence[Mapping[str, Any]],
        documents: int,
        at: datetime,
    ) -> None:
        """Keep a fit. Raises RetryLater when the generation was dropped meanwhile."""
        async with self._database.writing(durable=True) as connection:
            await connection.execute(
                """
                INSERT INTO calibration (generation_id, fitted_at, model, probes, documents, checked_at)
                VALUES ($1, $2, $3, $4, $5, $2)
                """,
                generation_id, at, model, list(probes), documents,
            )  # fmt: skip

    async def newest(self, generation_id: int) -> CalibrationRow | None:
        """Return the calibration that counts for a generation; None when there is none, or it has aged."""
        async with self._database.session() as connection:
            row = await connection.fetchrow(
                """
                SELECT id, fitted_at, model, probes, documents, checked_at, drift FROM calibration
                WHERE id = (SELECT max(id) FROM calibration WHERE generation_id = $1) AND drift <> 'aged'
                """,
                generation_id,
            )
        return CalibrationRow(**dict(row)) if row else None

    async def checked(self, id_: int, *, documents: int, at: datetime) -> None:
        """Note that a calibration was found to be good still, for a corpus of so many documents."""
        async with self._database.writing() as connection:
            await connection.execute(
                "UPDATE calibration SET checked_at = $2, documents = $3, drift = 'stable' WHERE id = $1",
                id_, at, documents,
            )  # fmt: skip

    async def aged(self, id_: int, *, at: datetime) -> None:
        """Note that a calibration does not fit its corpus any more: it counts no longer."""
        async with self._database.writing(durable=True) as connection:
            await connection.execute("UPDATE calibration SET checked_at = $2, drift = 'aged' WHERE id = $1", id_, at)

    async def corpus(self, since: datetime | None = None) -> CorpusSize:
        """Return how many documents there are, and how many paths have changed since a moment (0 without one)."""
        async with self._database.session() as connection:
            row = await connection.fetchrow(
                """
                SELECT count(*) FILTER (WHERE d.text IS NOT NULL) AS documents,
                       count(*) FILTER (WHERE d.changed_at > $1) AS changed
                FROM document d JOIN repo r ON r.id = d.repo_id WHERE NOT r.removed
                """,
                since,
            )
        assert row is not None
        return CorpusSize(row["documents"], row["changed"])

    async def passages(self, generation_id: int, limit: int, seed: int) -> list[SampledPassage]:
        """Return chunks of the repos that everyone may search, drawn by lot; equal seeds draw alike."""
        async with self._database.session() as connection:
            rows = await connection.fetch(
                f"""
                SELECT d.path, d.title, c.heading, c.text FROM (
                    SELECT c.id FROM chunk c JOIN document d ON d.id = c.document_id JOIN repo r ON r.id = d.repo_id
                    WHERE c.generation_id = $1 AND {_OPEN_TO_ALL} ORDER BY hashint8extended(c.id, $3) LIMIT $2
                ) drawn JOIN chunk c ON c.id = drawn.id JOIN document d ON d.id = c.document_id
                ORDER BY hashint8extended(c.id, $3)
                """,
                generation_id, limit, seed,
            )  # fmt: skip
        return [SampledPassage(row["path"], row["title"], unescape_all(row["heading"]), row["text"]) for row in rows]

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[bool]:
        """Tell whether no other node calibrates; while this is open, none begins. Holds a session, no transaction."""
        async with self._database.session() as connection:
            mine = await connection.fetchval("SELECT pg_try_advisory_lock($1)", locks.CALIBRATION)
            try:
                yield mine
            finally:
                if mine:
                    with anyio.CancelScope(shield=True):
                        await connection.execute("SELECT pg_advisory_unlock($1)", locks.CALIBRATION)
