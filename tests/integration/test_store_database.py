"""The way to Postgres: what fails is named, what was begun is undone, and the next call works."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import asyncpg
import pytest

from recalld.errors import DependencyError
from recalld.store import Store, locks
from recalld.store.database import Database
from tests.support.integrity import faults
from tests.support.postgres import with_database
from tests.support.stored import add_generation, add_repo, write


@pytest.fixture
async def store(postgres: str) -> AsyncIterator[Store]:
    opened = await Store.open(postgres, pool_size=2)
    yield opened
    await opened.aclose()


@pytest.fixture
async def rival(postgres: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(postgres)
    yield connection
    await connection.close()


async def waiting_for_a_lock(rival: asyncpg.Connection) -> int:
    """Wait until a session waits for an advisory lock; return its process id."""
    query = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    while (pid := await rival.fetchval(query)) is None:
        await anyio.lowlevel.checkpoint()
    return int(pid)


async def test_a_write_whose_connection_is_lost_is_undone_and_named(
    store: Store, rival: asyncpg.Connection, postgres: str
) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    await rival.execute("SELECT pg_advisory_lock($1)", locks.document(repo.id, "a.md"))
    failures: list[Exception] = []

    async def one() -> None:
        try:
            await write(store, repo, generation, "a.md", "text")
        except DependencyError as error:
            failures.append(error)

    async with anyio.create_task_group() as group:
        group.start_soon(one)
        await rival.execute("SELECT pg_terminate_backend($1)", await waiting_for_a_lock(rival))
    assert len(failures) == 1
    await rival.execute("SELECT pg_advisory_unlock_all()")
    assert await store.documents.get("memory", "a.md") is None
    await write(store, repo, generation, "a.md", "text")
    assert await faults(postgres) == {}


async def test_a_write_that_is_cancelled_is_undone_and_its_connection_goes_on(
    store: Store, rival: asyncpg.Connection, postgres: str
) -> None:
    repo, generation = await add_repo(store), await add_generation(store)
    await rival.execute("SELECT pg_advisory_lock($1)", locks.document(repo.id, "a.md"))
    for _ in range(5):  # more often than there are connections
        async with anyio.create_task_group() as group:
            group.start_soon(write, store, repo, generation, "a.md", "text")
            await waiting_for_a_lock(rival)
            group.cancel_scope.cancel()
    await rival.execute("SELECT pg_advisory_unlock_all()")
    await write(store, repo, generation, "a.md", "text")
    assert await faults(postgres) == {}


async def test_a_query_that_takes_too_long_is_named(postgres: str) -> None:
    database = await Database.open(postgres, None, 1, 0.05)
    try:
        with pytest.raises(DependencyError, match="too long"):
            async with database.session() as connection:
                await connection.execute("SELECT pg_sleep(5)")
        async with database.session() as connection:
            assert await connection.fetchval("SELECT 1") == 1
    finally:
        await database.aclose()


async def test_a_connection_goes_back_as_it_came(postgres: str) -> None:
    settings = "SELECT name, setting FROM pg_settings WHERE name <> 'jit' AND source = 'session'"  # asyncpg sets jit
    database = await Database.open(postgres, None, 1, 5)
    try:
        async with database.writing(shared=[1], alone=[2], durable=False) as connection:
            assert await connection.fetchval("SHOW synchronous_commit") == "off"
            pid = await connection.fetchval("SELECT pg_backend_pid()")
        async with database.session() as connection:
            assert await connection.fetchval("SELECT pg_backend_pid()") == pid
            assert await connection.fetch(settings) == []
            assert await connection.fetchval("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == 0
    finally:
        await database.aclose()


async def test_what_cannot_be_reached_is_named(postgres: str) -> None:
    with pytest.raises(DependencyError, match="does not exist"):
        await Store.open(with_database(postgres, "no_such_database"))


async def test_a_closed_store_says_so(postgres: str) -> None:
    store = await Store.open(postgres)
    await store.ping()
    await store.aclose()
    with pytest.raises(DependencyError):
        await store.ping()
    with pytest.raises(DependencyError):
        await store.repos.list()


async def test_searches_may_go_to_another_server(postgres: str) -> None:
    store = await Store.open(postgres, read_dsn=postgres)
    try:
        repo, generation = await add_repo(store), await add_generation(store)
        await write(store, repo, generation, "a.md", "text")
        assert await store.documents.get("memory", "a.md") is not None
        await store.ping()
    finally:
        await store.aclose()
