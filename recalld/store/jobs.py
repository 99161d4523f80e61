"""Runs of jobs: one row a slot, claimed by the one node that runs it.

What holds whatever dies: a slot that is done is never run again (its row says so, written in the same commit that ends
it), and no two nodes run a slot at once (an advisory lock, held by a session of its own for as long as the run takes).
A node that dies in the middle loses its session, and with it the lock: whoever is given the slot next runs it again.
So a job may begin more than once, and must be idempotent or go on where it stopped; it is done once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import anyio
import asyncpg

from recalld.store import locks
from recalld.store.database import Database, translated
from recalld.store.rows import JobRow

BEAT_TIMEOUT_S = 5.0
"""A server that does not take a beat for so long counts as away (seconds)."""
_OPEN = "('queued', 'running', 'lost')"
_CLAIM = f"""
    WITH before AS (SELECT state, node FROM job_run WHERE name = $1 AND slot = $2)
    INSERT INTO job_run AS r (name, slot, state, requested_by, asked_at, node, attempt, started_at, beat_at)
    VALUES ($1, $2, 'running', $4, $5, $3, 1, $5, $5)
    ON CONFLICT (name, slot) DO UPDATE
    SET state = 'running', node = $3, attempt = r.attempt + 1, started_at = $5, beat_at = $5,
        losses = r.losses + (r.state IN ('running', 'lost'))::int, words = '', share = NULL
    WHERE r.state IN {_OPEN}
    RETURNING r.*, (SELECT node FROM before WHERE state IN ('running', 'lost')) AS dead
"""


class NotYours(StrEnum):
    """Why a slot cannot be claimed."""

    HELD = "held"
    """Another node runs it now."""
    ENDED = "ended"
    """It was run, or called off."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to run a slot, for as long as its session lives; ``dead`` is the node that died while it ran it."""

    run: JobRow
    dead: str | None
    _connection: asyncpg.Connection

    async def beat(self, *, words: str, share: float | None, at: datetime) -> str | None:
        """Say that the run goes on, and how far it is; return who wants it cancelled ('' for nobody).

        None when the claim counts no longer. Raises DependencyError when the session is lost, and with it the lock.
        """
        with translated(), anyio.CancelScope(shield=True), anyio.fail_after(BEAT_TIMEOUT_S):
            cancelled_by: str | None = await self._connection.fetchval(
                """
                UPDATE job_run SET beat_at = $3, words = $4, share = $5
                WHERE id = $1 AND attempt = $2 AND state = 'running' RETURNING cancelled_by
                """,
                self.run.id, self.run.attempt, at, words, share,
            )  # fmt: skip
        return cancelled_by


class Jobs:
    """Keeps what became of each slot of each job."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ask(self, name: str, slot: str, *, by: str, at: datetime) -> JobRow:
        """Note that a slot was asked for, before anyone claims it; one that is known stays as it is."""
        async with self._database.writing(durable=True) as connection:
            row = await connection.fetchrow(
                """
                WITH made AS (
                    INSERT INTO job_run (name, slot, state, requested_by, asked_at) VALUES ($1, $2, 'queued', $3, $4)
                    ON CONFLICT (name, slot) DO NOTHING RETURNING *
                )
                SELECT * FROM made UNION ALL SELECT * FROM job_run WHERE name = $1 AND slot = $2 LIMIT 1
                """,
                name, slot, by, at,
            )  # fmt: skip
        return _run(row)

    @asynccontextmanager
    async def claim(self, name: str, slot: str, *, node: str, by: str, at: datetime) -> AsyncIterator[Claim | NotYours]:
        """Take a slot, new or of a node that died, and hold it while this is open. Raises DependencyError on entry."""
        async with self._database.apart() as connection:
            with translated():
                if not await connection.fetchval("SELECT pg_try_advisory_lock($1)", locks.job(name, slot)):
                    row, why = None, NotYours.HELD
                else:
                    row, why = await connection.fetchrow(_CLAIM, name, slot, node, by, at), NotYours.ENDED
            yield Claim(_run(row), row["dead"], connection) if row else why

    async def end(
        self, run: JobRow, state: str, *, at: datetime, result: Mapping[str, Any] | None = None, error: str = ""
    ) -> bool:
        """Write down how a run ended, for good; False when its claim counts no longer."""
        return await self._leave(run, state, at, result or {}, error, failed=state in ("failed", "timed_out"))

    async def hand_back(self, run: JobRow, *, at: datetime, error: str, failed: bool) -> bool:
        """Put a run back into the queue, to be claimed again; ``failed`` counts it as a failure."""
        return await self._leave(run, "queued", at, {}, error, failed=failed)

    async def _leave(
        self, run: JobRow, state: str, at: datetime, result: Mapping[str, Any], error: str, *, failed: bool
    ) -> bool:
        async with self._database.writing(durable=True) as connection:
            found = await connection.fetchval(
                """
                UPDATE job_run SET state = $3, beat_at = $4, result = $5,
                       ended_at = CASE WHEN $3 <> 'queued' THEN $4::timestamptz END,
                       error = $6, failures = failures + $7::int,
                       share = CASE WHEN $3 = 'done' THEN 1 ELSE share END
                WHERE id = $1 AND attempt = $2 AND state = 'running' RETURNING id
                """,
                run.id, run.attempt, state, at, result, error, int(failed),
            )  # fmt: skip
        return found is not None

    async def cancel(self, id_: int, *, by: str, at: datetime) -> JobRow | None:
        """Call off a run: one that waits is cancelled now, one that runs is told by its next beat. None: no such run.

        One that has ended stays as it is.
        """
        async with self._database.writing(durable=True) as connection:
            await connection.execute(
                f"""
                UPDATE job_run SET cancelled_by = $2,
                       state = CASE WHEN state = 'running' THEN state ELSE 'cancelled' END,
                       ended_at = CASE WHEN state = 'running' THEN NULL ELSE $3::timestamptz END
                WHERE id = $1 AND state IN {_OPEN}
                """,
                id_, by, at,
            )  # fmt: skip
            row = await connection.fetchrow("SELECT * FROM job_run WHERE id = $1", id_)
        return _run(row) if row else None

    async def strays(self, silent_since: datetime, *, at: datetime) -> list[JobRow]:
        """Return the open runs of which nothing was heard since a time, each to one caller; running ones are lost now.

        They are to be asked for again: the request that would bring them back may be gone.
        """
        async with self._database.writing() as connection:
            rows = await connection.fetch(
                f"""
                UPDATE job_run SET state = CASE WHEN state = 'running' THEN 'lost' ELSE state END, beat_at = $2
                WHERE state IN {_OPEN} AND coalesce(beat_at, asked_at) < $1 RETURNING *
                """,
                silent_since, at,
            )  # fmt: skip
        return [_run(row) for row in rows]

    async def get(self, id_: int) -> JobRow | None:
        """Return a run."""
        async with self._database.session() as connection:
            row = await connection.fetchrow("SELECT * FROM job_run WHERE id = $1", id_)
        return _run(row) if row else None

    async def list(self, *, name: str | None = None, limit: int = 20) -> list[JobRow]:
        """Return runs of a job, or of all, the newest first."""
        async with self._database.session() as connection:
            rows = await connection.fetch(
                """
                SELECT * FROM job_run WHERE $1::text IS NULL OR name = $1
                ORDER BY coalesce(started_at, asked_at) DESC, id DESC LIMIT $2
                """,
                name, limit,
            )  # fmt: skip
        return [_run(row) for row in rows]

    async def last(self) -> Sequence[JobRow]:
        """Return each job's newest run."""
        async with self._database.session() as connection:
            rows = await connection.fetch(
                """
                SELECT DISTINCT ON (name) * FROM job_run ORDER BY name, coalesce(started_at, asked_at) DESC, id DESC
                """
            )
        return [_run(row) for row in rows]

    async def prune(self, before: datetime) -> int:
        """Drop what ended before a time; return how many runs."""
        async with self._database.session() as connection:
            done = await connection.execute("DELETE FROM job_run WHERE ended_at < $1", before)
        return int(done.split()[-1])


def _run(row: Any) -> JobRow:
    return JobRow(
        id=row["id"],
        name=row["name"],
        slot=row["slot"],
        state=row["state"],
        requested_by=row["requested_by"],
        asked_at=row["asked_at"],
        node=row["node"],
        attempt=row["attempt"],
        failures=row["failures"],
        losses=row["losses"],
        started_at=row["started_at"],
        beat_at=row["beat_at"],
        ended_at=row["ended_at"],
        words=row["words"],
        share=row["share"],
        result=row["result"],
        error=row["error"],
        cancelled_by=row["cancelled_by"],
    )
