"""How often guardrails were surfaced, found and of use: counted beside the work, never in its way."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import anyio

from recalld.errors import NotFoundError, RecalldError
from recalld.store.database import Database
from recalld.store.text import escape_all

log = logging.getLogger(__name__)

KINDS = ("surfaced", "retrieved", "helped", "failed", "recurred")
"""Surfaced before an act, retrieved by a search, marked as a help or as a failure, learned again."""
PENDING = 10_000
"""Guardrails of which counts are held in memory at most; more are dropped, and counted."""
FLUSH_S = 1.0
_ADD = """
    INSERT INTO lesson_usage AS u (repo_id, guardrail, surfaced, retrieved, helped, failed, recurred, first_at, last_at)
    SELECT r.id, n.guardrail, n.surfaced, n.retrieved, n.helped, n.failed, n.recurred, n.first_at, n.last_at
    FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
                $8::timestamptz[], $9::timestamptz[])
         AS n (repo, guardrail, surfaced, retrieved, helped, failed, recurred, first_at, last_at)
    JOIN repo r ON r.name = n.repo AND NOT r.removed
    ORDER BY r.id, n.guardrail
    ON CONFLICT (repo_id, guardrail) DO UPDATE SET
        surfaced = u.surfaced + excluded.surfaced, retrieved = u.retrieved + excluded.retrieved,
        helped = u.helped + excluded.helped, failed = u.failed + excluded.failed,
        recurred = u.recurred + excluded.recurred,
        first_at = least(u.first_at, excluded.first_at), last_at = greatest(u.last_at, excluded.last_at)
    RETURNING u.*
"""


@dataclass(frozen=True, slots=True)
class Use:
    """What became of one guardrail, and when for the first and the last time."""

    surfaced: int = 0
    retrieved: int = 0
    helped: int = 0
    failed: int = 0
    recurred: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None

    @property
    def used(self) -> bool:
        """Tell whether anybody ever had it before their eyes."""
        return bool(self.surfaced or self.retrieved or self.helped or self.failed)

    def counting(self, kind: str, at: datetime) -> Use:
        """Return this with one ``kind`` more."""
        changed: dict[str, Any] = {kind: getattr(self, kind) + 1, "last_at": at}
        return replace(self, **changed)


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts to add to one guardrail of a repo, by name."""

    repo: str
    guardrail: str
    use: Use


class Usage:
    """Adds to the counts and reads them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, counts: Sequence[Counted]) -> list[Use]:
        """Add counts; what a repo that is not there is said to have is left out. Returns the sums."""
        uses = [each.use for each in counts]
        columns = [[getattr(use, kind) for use in uses] for kind in KINDS]
        async with self._database.writing() as connection:
            rows = await connection.fetch(
                _ADD, [each.repo for each in counts], escape_all([each.guardrail for each in counts]), *columns,
                [use.first_at for use in uses], [use.last_at for use in uses],
            )  # fmt: skip
        return [_use(row) for row in rows]

    async def mark(self, repo: str, guardrail: str, kind: str, at: datetime) -> Use:
        """Count one thing at once; return what there is now. Raises NotFoundError where the repo is gone."""
        assert kind in KINDS
        found = await self.add([Counted(repo, guardrail, Use(first_at=at).counting(kind, at))])
        if not found:
            raise NotFoundError(f"no repo {repo}", suggestion="`recall repo list` names them")
        return found[0]

    async def of_repo(self, repo_id: int) -> dict[str, Use]:
        """Return what is counted of a repo, by guardrail."""
        async with self._database.session() as connection:
            rows = await connection.fetch("SELECT * FROM lesson_usage WHERE repo_id = $1", repo_id)
        return {row["guardrail"]: _use(row) for row in rows}

    async def counted_since(self, repo_id: int) -> datetime | None:
        """Return since when a repo's uses are counted: from before that, "never used" is not known."""
        async with self._database.session() as connection:
            found: datetime | None = await connection.fetchval(
                """
                SELECT greatest(r.added_at, (SELECT applied_at FROM schema_migration WHERE name = 'lessons'))
                FROM repo r WHERE r.id = $1
                """,
                repo_id,
            )
        return found


@dataclass(slots=True)
class UsageLog:
    """Takes notes at any time without waiting, and hands them to the database now and then.

    Best effort: what cannot be written, or is too much, is dropped; ``dropped`` counts it.
    """

    usage: Usage
    clock: Callable[[], datetime]
    most: int = PENDING
    dropped: int = 0
    _pending: dict[tuple[str, str], Use] = field(default_factory=dict)

    def note(self, kind: str, repo: str, guardrails: Sequence[str]) -> None:
        """Count one ``kind`` (of :data:`KINDS`) for each of the guardrails of a repo."""
        now = self.clock()
        for guardrail in guardrails:
            key = (repo, guardrail)
            known = self._pending.get(key)
            if known is None and len(self._pending) >= self.most:
                self.dropped += 1
                continue
            self._pending[key] = (known or Use(first_at=now)).counting(kind, now)

    async def flush(self) -> None:
        """Write what was noted; where that fails it is dropped."""
        pending, self._pending = self._pending, {}
        if not pending:
            return
        try:
            await self.usage.add([Counted(repo, guardrail, use) for (repo, guardrail), use in pending.items()])
        except RecalldError as error:
            if not self.dropped:
                log.warning("uses of lessons are not counted: %s", error.message)
            self.dropped += len(pending)

    async def run(self) -> None:
        """Write every second until cancelled, and once more then."""
        try:
            while True:
                await anyio.sleep(FLUSH_S)
                await self.flush()
        finally:
            with anyio.CancelScope(shield=True):
                await self.flush()


def _use(row: Any) -> Use:
    return Use(
        row["surfaced"],
        row["retrieved"],
        row["helped"],
        row["failed"],
        row["recurred"],
        row["first_at"],
        row["last_at"],
    )
