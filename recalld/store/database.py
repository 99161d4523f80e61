"""The connections to Postgres, and what its errors mean here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Self

import anyio
import asyncpg
from pgvector.asyncpg import register_vector

from recalld.errors import DependencyError, RetryLater

Connection = asyncpg.pool.PoolConnectionProxy
_START_S = 15.0
_PING_S = 2.0


@contextmanager
def translated() -> Iterator[None]:
    """Name what Postgres and the way to it can do wrong: DependencyError, or RetryLater for a lost race."""
    try:
        yield
    except asyncpg.QueryCanceledError as error:
        raise DependencyError(f"Postgres took too long: {error}", suggestion="see store.statement_timeout_s") from error
    except (asyncpg.TransactionRollbackError, asyncpg.ForeignKeyViolationError) as error:
        raise RetryLater(f"another writer was faster: {error}") from error
    except asyncpg.InvalidPasswordError as error:
        raise DependencyError(f"Postgres refuses the login: {error}", suggestion="check store.dsn") from error
    except (asyncpg.PostgresConnectionError, asyncpg.CannotConnectNowError, asyncpg.AdminShutdownError) as error:
        raise DependencyError(f"the connection to Postgres was lost: {error}") from error
    except (asyncpg.CrashShutdownError, asyncpg.TooManyConnectionsError, asyncpg.InterfaceError) as error:
        raise DependencyError(f"Postgres cannot be used: {error}") from error
    except asyncpg.InvalidCatalogNameError as error:
        raise DependencyError(f"{error}", suggestion="create the database, or check store.dsn") from error
    except (OSError, TimeoutError) as error:
        raise DependencyError(f"Postgres cannot be reached: {error or 'no answer in time'}") from error


class Database:
    """A pool for writing and one for searching, which may be the same."""

    def __init__(self, pool: asyncpg.Pool, read_pool: asyncpg.Pool) -> None:
        self._pool = pool
        self._read_pool = read_pool

    @classmethod
    async def open(cls, dsn: str, read_dsn: str | None, size: int, statement_timeout_s: float) -> Self:
        """Connect, waiting a little for a server that is only just starting. Raises DependencyError."""
        pool = await _pool(dsn, size, statement_timeout_s)
        try:
            read_pool = await _pool(read_dsn, size, statement_timeout_s) if read_dsn else pool
        except BaseException:
            pool.terminate()
            raise
        return cls(pool, read_pool)

    async def aclose(self) -> None:
        """Close both pools; queries that still run are ended after a moment."""
        for pool in {self._pool, self._read_pool}:
            try:
                with anyio.fail_after(_PING_S):
                    await pool.close()
            except TimeoutError:
                pool.terminate()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Connection]:
        """Lend a connection for queries that may go to a replica."""
        with translated():
            async with self._read_pool.acquire() as connection:
                yield connection

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Connection]:
        """Lend a connection to the primary."""
        with translated():
            async with self._pool.acquire() as connection:
                yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[Connection]:
        """Lend a connection inside a transaction that commits without waiting for the disk.

        A crash of Postgres may lose the last fraction of a second of commits, never half of one. What is written this
        way comes from files, and the scan after the restart finds what is missing.
        """
        with translated():
            async with self._pool.acquire() as connection, connection.transaction():
                await connection.execute("SET LOCAL synchronous_commit = off")
                yield connection

    async def ping(self) -> None:
        """Ask both pools something. Raises DependencyError."""
        for pool in {self._pool, self._read_pool}:
            with translated():
                async with pool.acquire(timeout=_PING_S) as connection:
                    await connection.fetchval("SELECT 1", timeout=_PING_S)


async def _pool(dsn: str, size: int, statement_timeout_s: float) -> asyncpg.Pool:
    settings: dict[str, Any] = {
        "application_name": "recalld",
        "statement_timeout": str(int(statement_timeout_s * 1_000)),
        "jit": "off",
        "max_parallel_workers_per_gather": "0",
        "hnsw.iterative_scan": "relaxed_order",
        "hnsw.ef_search": "100",
    }
    with translated():
        deadline = anyio.current_time() + _START_S
        while True:
            try:
                return await asyncpg.create_pool(
                    dsn,
                    min_size=1,
                    max_size=size,
                    command_timeout=statement_timeout_s + 5,
                    init=register_vector,
                    server_settings=settings,
                )
            except (OSError, asyncpg.CannotConnectNowError):
                if anyio.current_time() >= deadline:
                    raise
                await anyio.sleep(0.2)
