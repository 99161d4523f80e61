"""Migrations: once, in order, under one lock, and never over a schema that is newer or other."""

from __future__ import annotations

import anyio
import asyncpg
import pytest

from recalld.errors import DependencyError, SchemaError
from recalld.store import Store, locks
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
        await migrate("postgresql://nobody@127.0.0.1:1/none", wait_s=0)


async def test_an_index_built_beside_writers_does_not_wait_for_a_second_daemon(postgres: str) -> None:
    alone = Migration(
        9_999,
        "alone",
        "-- recalld: no-transaction\n"
        "DROP INDEX CONCURRENTLY IF EXISTS alone;\n"
        "CREATE INDEX CONCURRENTLY alone ON repo (node);\n",
    )
    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    applied: list[str] = []
    holder = await asyncpg.connect(postgres)
    try:
        await holder.execute("SELECT pg_advisory_lock($1)", locks.MIGRATION)

        async def one() -> None:
            applied.extend(await migrate(postgres, [*known(), alone]))

        async with anyio.create_task_group() as group:
            group.start_soon(one)
            group.start_soon(one)
            while await holder.fetchval(others) < 2:
                await anyio.lowlevel.checkpoint()
            await holder.execute("SELECT pg_advisory_unlock($1)", locks.MIGRATION)
    finally:
        await holder.close()
    assert applied == ["9999_alone"]


async def test_one_that_was_cut_short_is_run_again(postgres: str) -> None:
    cut = Migration(9_999, "cut", "-- recalld: no-transaction\nCREATE TABLE IF NOT EXISTS half ();\nSELECT 1/0;\n")
    with pytest.raises(asyncpg.DivisionByZeroError):
        await migrate(postgres, [*known(), cut])
    mended = Migration(9_999, "cut", cut.sql.replace("1/0", "1"))
    assert await migrate(postgres, [*known(), mended]) == ["9999_cut"]


def test_migrations_are_numbered_without_gaps() -> None:
    assert [migration.version for migration in known()] == list(range(1, len(known()) + 1))


async def test_a_store_of_a_database_without_schema_says_so(empty_postgres: str) -> None:
    with pytest.raises(SchemaError, match="pgvector"):
        await Store.open(empty_postgres)
    connection = await asyncpg.connect(empty_postgres)
    try:
        await connection.execute("CREATE EXTENSION vector")
    finally:
        await connection.close()
    store = await Store.open(empty_postgres)
    try:
        with pytest.raises(SchemaError, match="repo"):
            await store.repos.list()
    finally:
        await store.aclose()
