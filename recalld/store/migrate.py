"""Plain SQL migrations: ordered by number, each applied once, in a transaction, under one lock.

A file whose first line is ``-- recalld: no-transaction`` holds statements that cannot run in a transaction (``CREATE
INDEX CONCURRENTLY``), each ended by a semicolon at the end of a line. They are run one by one, and all again when that
was cut short, so they must bear it (``DROP INDEX CONCURRENTLY IF EXISTS`` first). Files are never edited after a
release: the checksum tells.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

import anyio
import asyncpg

from recalld.errors import DependencyError, SchemaError
from recalld.store import locks
from recalld.store.database import START_S, patiently, translated

_NAME = re.compile(r"(\d{4})_(\w+)\.sql")
_ALONE = "-- recalld: no-transaction"
_STATEMENT_END = re.compile(r";\s*$", re.MULTILINE)
_TRY_LOCK = "SELECT pg_try_advisory_lock($1)"
_POLL_S = 0.1
_PGVECTOR = (0, 8)
"""Since then, an HNSW scan goes on until a filter has let enough through."""
_LEDGER = """
    CREATE TABLE IF NOT EXISTS schema_migration (
        version integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL,
        applied_at timestamptz NOT NULL DEFAULT now()
    )
"""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file: its number, its name, its SQL."""

    version: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        """The sha256 of the SQL."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def known() -> list[Migration]:
    """Return the migrations of this version of recalld, in order."""
    folder = resources.files("recalld.store") / "migrations"
    found = [
        Migration(int(match[1]), match[2], entry.read_text("utf-8"))
        for entry in folder.iterdir()
        if (match := _NAME.fullmatch(entry.name))
    ]
    return sorted(found, key=lambda migration: migration.version)


async def migrate(dsn: str, migrations: Sequence[Migration] | None = None, *, wait_s: float = START_S) -> list[str]:
    """Bring a database to this version's schema; return the names of what was applied.

    Several daemons may call it at once: one works, the others wait and find nothing to do. A server that is only just
    starting is waited for. Raises SchemaError when the database is newer than this code or was made by other files,
    DependencyError when it cannot be reached or has no pgvector.
    """
    todo = known() if migrations is None else list(migrations)
    with translated():
        connection = await patiently(lambda: asyncpg.connect(dsn), wait_s)
        try:
            await _lock(connection)
            await _require_pgvector(connection)
            await connection.execute(_LEDGER)
            return [await _apply(connection, migration) for migration in await _missing(connection, todo)]
        finally:
            await connection.close()


async def pending(dsn: str, *, wait_s: float = START_S) -> list[str]:
    """Return the names of the migrations that :func:`migrate` would apply. Raises as it does."""
    with translated():
        connection = await patiently(lambda: asyncpg.connect(dsn), wait_s)
        try:
            exists = await connection.fetchval("SELECT to_regclass('schema_migration') IS NOT NULL")
            missing = await _missing(connection, known()) if exists else known()
            return [_label(migration) for migration in missing]
        finally:
            await connection.close()


async def _lock(connection: asyncpg.Connection) -> None:
    """Poll for the lock: a session that waited for it would itself be waited for by CREATE INDEX CONCURRENTLY."""
    while not await connection.fetchval(_TRY_LOCK, locks.MIGRATION):  # noqa: ASYNC110 - another process holds it
        await anyio.sleep(_POLL_S)


async def _require_pgvector(connection: asyncpg.Connection) -> None:
    try:
        await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except asyncpg.PostgresError as error:
        raise DependencyError(
            f"the database has no pgvector: {error}",
            suggestion="install pgvector 0.8 or newer, and CREATE EXTENSION vector as a superuser",
        ) from error
    version = await connection.fetchval("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    if tuple(int(part) for part in version.split(".")[:2]) < _PGVECTOR:
        raise DependencyError(
            f"the database has pgvector {version}, recalld needs 0.8",
            suggestion="install it, and ALTER EXTENSION vector UPDATE as a superuser",
        )


async def _missing(connection: asyncpg.Connection, migrations: Sequence[Migration]) -> list[Migration]:
    applied = {row["version"]: row for row in await connection.fetch("SELECT * FROM schema_migration")}
    ours = {migration.version: migration for migration in migrations}
    newer = sorted(applied.keys() - ours.keys())
    if newer:
        raise SchemaError(
            f"the database has schema version {newer[-1]}, this recalld knows {max(ours, default=0)}",
            suggestion="upgrade recalld, or give it another database",
        )
    for version, row in applied.items():
        if ours[version].checksum != row["checksum"]:
            raise SchemaError(
                f"migration {version} ({row['name']}) was applied with other contents than this recalld has",
                suggestion="use the recalld that made this database; the files are the truth, so a new one can be made",
            )
    return [migration for version, migration in sorted(ours.items()) if version not in applied]


async def _apply(connection: asyncpg.Connection, migration: Migration) -> str:
    if migration.sql.startswith(_ALONE):
        for statement in _STATEMENT_END.split(migration.sql):
            if statement.strip():
                await connection.execute(statement)
        await _record(connection, migration)
    else:
        async with connection.transaction():
            await connection.execute(migration.sql)
            await _record(connection, migration)
    return _label(migration)


async def _record(connection: asyncpg.Connection, migration: Migration) -> None:
    await connection.execute(
        "INSERT INTO schema_migration (version, name, checksum) VALUES ($1, $2, $3)",
        migration.version,
        migration.name,
        migration.checksum,
    )


def _label(migration: Migration) -> str:
    return f"{migration.version:04d}_{migration.name}"
