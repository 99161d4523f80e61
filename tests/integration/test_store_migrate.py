"""Migrations: once, in order, under one lock, and never over a schema that is newer or other."""

from __future__ import annotations

import anyio
import asyncpg
import pytest

from recalld.errors import DependencyError, SchemaError
from recalld.store.migrate import Migration, known, migrate, pending


async def test_two_daemons_at_once_apply_each_migration_once(empty_postgres: str) -> None:
    applied: list[str] = []

    async def one() -> None:
        applied.extend(await migrate(empty_postgres))

    assert await pending(empty_postgres)
    async with anyio.create_task_group() as group:
        group.start_soon(one)
        group.start_soon(one)
    assert applied == [f"{migration.version:04d}_{migration.name}" for migration in known()]
    assert await pending(empty_postgres) == []


async def test_a_newer_schema_is_refused(postgres: str) -> None:
    future = Migration(9_999, "future", "CREATE TABLE future ()")
    await migrate(postgres, [*known(), future])
    with pytest.raises(SchemaError, match="9999"):
        await migrate(postgres)


async def test_an_edited_migration_is_refused(postgres: str) -> None:
    first, *others = known()
    with pytest.raises(SchemaError, match="other contents"):
        await migrate(postgres, [Migration(first.version, first.name, first.sql + "\n-- edited"), *others])


async def test_a_broken_migration_leaves_nothing_behind(postgres: str) -> None:
    broken = Migration(9_999, "broken", "CREATE TABLE half (); SELECT 1/0;")
    with pytest.raises(asyncpg.DivisionByZeroError):
        await migrate(postgres, [*known(), broken])
    connection = await asyncpg.connect(postgres)
    try:
        assert await connection.fetchval("SELECT to_regclass('half')") is None
    finally:
        await connection.close()
    assert await migrate(postgres) == []


async def test_one_that_cannot_run_in_a_transaction(postgres: str) -> None:
    alone = Migration(9_999, "alone", "-- recalld: no-transaction\nCREATE INDEX CONCURRENTLY alone ON repo (node)")
    assert await migrate(postgres, [*known(), alone]) == ["9999_alone"]


async def test_a_database_that_is_not_there_is_named() -> None:
    with pytest.raises(DependencyError):
        await migrate("postgresql://nobody@127.0.0.1:1/none")
