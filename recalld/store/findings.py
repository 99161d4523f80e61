"""Findings: faults that name their file, from whoever saw them last."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from recalld.model import Finding, Severity
from recalld.store import locks
from recalld.store.database import Database
from recalld.store.text import escape_all

_DELETE = """
    DELETE FROM finding f USING repo r WHERE r.id = f.repo_id AND r.name = $1 AND f.path = $2 AND f.source = $3
"""
_INSERT = """
    INSERT INTO finding (repo_id, path, source, code, severity, message, hint, line, key, attempts, first_seen,
                         last_seen)
    SELECT id, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12 FROM repo WHERE name = $1
"""


class Findings:
    """Keeps what each source (ingest, watch, lint, verify) says of each path."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def replace(self, repo: str, path: str, source: str, findings: Sequence[Finding], *, at: datetime) -> None:
        """Make a source's findings on a path equal to ``findings``; one seen before keeps its first time."""
        if not findings:
            async with self._database.session() as connection:
                await connection.execute(f"{_DELETE} RETURNING f.id", repo, path, source)
            return
        async with self._database.writing(alone=[locks.findings(repo, path, source)]) as connection:
            old = await connection.fetch(
                f"{_DELETE} RETURNING f.code, f.message, f.attempts, f.first_seen", repo, path, source
            )
            before = {(row["code"], row["message"]): row for row in old}
            rows = []
            for finding in findings:
                known = before.get((finding.code, finding.message))
                rows.append(
                    (repo, path, source, finding.code, finding.severity, finding.message, finding.hint, finding.line,
                     finding.key, known["attempts"] + 1 if known else 1, known["first_seen"] if known else at, at)
                )  # fmt: skip
            await connection.executemany(_INSERT, rows)

    async def clear_others(self, repo: str, source: str, keep: Sequence[str]) -> None:
        """Drop a source's findings on all paths of a repo but those to ``keep``."""
        async with self._database.writing() as connection:
            await connection.execute(
                """
                DELETE FROM finding f USING repo r
                WHERE r.id = f.repo_id AND r.name = $1 AND f.source = $2 AND f.path <> ALL($3::text[])
                """,
                repo, source, escape_all(keep),
            )  # fmt: skip

    async def list(self, *, repo: str | None = None, path: str | None = None, limit: int = 100) -> list[Finding]:
        """Return findings, the newest first; those of lint, which can be many, after all others."""
        async with self._database.session() as connection:
            rows = await connection.fetch(
                """
                SELECT f.*, r.name AS repo FROM finding f JOIN repo r ON r.id = f.repo_id
                WHERE ($1::text IS NULL OR r.name = $1) AND ($2::text IS NULL OR f.path = $2)
                ORDER BY f.source = 'lint', f.last_seen DESC, f.id DESC LIMIT $3
                """,
                repo, path, limit,
            )  # fmt: skip
        return [
            Finding(
                row["repo"],
                row["path"],
                row["code"],
                Severity(row["severity"]),
                row["message"],
                row["hint"],
                row["line"],
                row["key"],
                row["attempts"],
                row["first_seen"],
                row["last_seen"],
            )
            for row in rows
        ]
