"""The connections to Postgres, and what its errors mean here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Self, TypeVar

import anyio
import asyncpg
from pgvector.asyncpg import register_vector

from recalld.errors import DependencyError, RetryLater, SchemaError
from recalld.store.text import decode, decode_json, encode, encode_json

T = TypeVar("T")
Connection = asyncpg.pool.PoolConnectionProxy
START_S = 15.0
"""How long a server that is only just starting is waited for."""
_PING_S = 2.0
_MIGRATE = "run `recalld migrate`, or start a daemon with the index role"


@contextmanager
def translated() -> Iterator[None]:
    """Name what Postgres and the way to it can do wrong.

    RetryLater for a lost race, SchemaError where the tables are not what this code knows, DependencyError for the rest
    that may pass. What is left as it is would be a fault of this code.
    """
    try:
        yield
    except asyncpg.QueryCanceledError as error:
        raise DependencyError(f"Postgres took too long: {error}", suggestion="see store.statement_timeout_s") from error
    except (asyncpg.TransactionRollbackError, asyncpg.ForeignKeyViolationError) as error:
        raise RetryLater(f"another writer was faster: {error}") from error
    except (asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InsufficientPrivilegeError) as error:
        raise DependencyError(f"Postgres refuses: {error}", suggestion="check store.dsn and its role") from error
    except asyncpg.InvalidCatalogNameError as error:
        raise DependencyError(f"{error}", suggestion="create the database, or check store.dsn") from error
    except (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError, asyncpg.UndefinedObjectError) as error:
        raise SchemaError(f"the database has another schema: {error}", suggestion=_MIGRATE) from error
    except (asyncpg.PostgresConnectionError, asyncpg.OperatorInterventionError) as error:
        raise DependencyError(f"the connection to Postgres was lost: {error}") from error
    except asyncpg.InternalClientError as error:  # what asyncpg says of a connection that goes between two messages
        raise DependencyError(f"the connection to Postgres cannot be used any more: {error}") from error
    except (
        asyncpg.InsufficientResourcesError,
        asyncpg.ReadOnlySQLTransactionError,
        asyncpg.PostgresSystemError,
    ) as error:
        raise DependencyError(f"Postgres cannot be used: {error}") from error
    except asyncpg.InterfaceError as error:
        if isinstance(error, ValueError):  # an argument that does not fit its type
            raise
        raise DependencyError(f"Postgres cannot be used: {error}") from error
    except (OSError, TimeoutError) as error:
        raise DependencyError(f"Postgres cannot be reached: {error or 'no answer in time'}") from error


async def patiently(connect: Callable[[], Awaitable[T]], wait_s: float = START_S) -> T:
    """Connect, waiting for a server that is only just starting."""
    deadline = anyio.current_time() + wait_s
    while True:
        try:
            return await connect()
        except (OSError, asyncpg.CannotConnectNowError, asyncpg.PostgresConnectionError):
            if anyio.current_time() >= deadline:
                raise
            await anyio.sleep(0.2)


class Database:
    """A pool for writing and one for searching, which may be the same."""

    def __init__(self, pool: asyncpg.Pool, read_pool: asyncpg.Pool, dsn: str) -> None:
        self._pool = pool
        self._read_pool = read_pool
        self._dsn = dsn

    @classmethod
    async def open(cls, dsn: str, read_dsn: str | None, size: int, statement_timeout_s: float) -> Self:
        """Connect, waiting a little for a server that is only just starting. Raises DependencyError or SchemaError."""
        pool = await _pool(dsn, size, statement_timeout_s)
        try:
            read_pool = await _pool(read_dsn, size, statement_timeout_s) if read_dsn else pool
        except BaseException:
            pool.terminate()
            raise
        return cls(pool, read_pool, dsn)

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
    async def glimpse(self) -> AsyncIterator[Connection]:
        """Lend a connection whose queries all see one moment; they may go to a replica."""
        with translated():
            async with (
                self._read_pool.acquire() as connection,
                connection.transaction(isolation="repeatable_read", readonly=True),
            ):
                yield connection

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Connection]:
        """Lend a connection to the primary."""
        with translated():
            async with self._pool.acquire() as connection:
                yield connection

    @asynccontextmanager
    async def apart(self) -> AsyncIterator[asyncpg.Connection]:
        """Open a connection to the primary beside the pool, for what is held for long: its end lets go of all of it.

        Errors of what is done inside are left as they are: :func:`translated` names them.
        """
        with translated():
            connection = await asyncpg.connect(
                self._dsn, timeout=_PING_S * 2, server_settings={"application_name": "recalld"}
            )
        try:
            with translated():
                await _prepare(connection)
            yield connection
        finally:
            with anyio.CancelScope(shield=True):
                await _close(connection)

    @asynccontextmanager
    async def writing(
        self, *, shared: Sequence[int] = (), alone: Sequence[int] = (), durable: bool = False
    ) -> AsyncIterator[Connection]:
        """Lend a connection inside a transaction that holds advisory locks, taken in order, ``shared`` ones first.

        Its commit does not wait for the disk unless ``durable``: until :meth:`flush`, a crash of Postgres may lose the
        last of what was committed, never half of one.
        """
        with translated():
            async with self._pool.acquire() as connection, connection.transaction():
                await connection.execute(_LOCK, list(shared), list(alone), "on" if durable else "off")
                yield connection

    async def flush(self) -> None:
        """Wait until everything that was committed so far is on disk, whichever connection committed it."""
        async with self.session() as connection:
            # A transaction that writes to the log, and so one whose commit waits for all of the log before it.
            await connection.execute("SELECT pg_logical_emit_message(true, 'recalld', '')")

    async def ping(self) -> None:
        """Ask both pools something. Raises DependencyError."""
        for pool in {self._pool, self._read_pool}:
            with translated():
                async with pool.acquire(timeout=_PING_S) as connection:
                    await connection.fetchval("SELECT 1", timeout=_PING_S)


_LOCK = """
    SELECT set_config('synchronous_commit', $3, true),
           (SELECT count(pg_advisory_xact_lock_shared(key)) FROM unnest($1::bigint[]) key),
           (SELECT count(pg_advisory_xact_lock(key)) FROM unnest($2::bigint[]) key)
"""


async def _pool(dsn: str, size: int, statement_timeout_s: float) -> asyncpg.Pool:
    settings: dict[str, Any] = {
        "application_name": "recalld",
        "statement_timeout": str(int(statement_timeout_s * 1_000)),
        "jit": "off",
        "max_parallel_workers_per_gather": "0",
        "hnsw.iterative_scan": "relaxed_order",
        "hnsw.ef_search": "100",
    }

    async def connect() -> asyncpg.Pool:
        return await asyncpg.create_pool(
            dsn,
            min_size=1,
            max_size=size,
            command_timeout=statement_timeout_s + 5,
            init=_prepare,
            reset=_keep,
            server_settings=settings,
        )

    with translated():
        return await patiently(connect)


async def _prepare(connection: asyncpg.Connection) -> None:
    try:
        await register_vector(connection)
    except ValueError as error:
        raise SchemaError("the database is not set up: it has no pgvector", suggestion=_MIGRATE) from error
    await connection.set_type_codec("text", schema="pg_catalog", encoder=encode, decoder=decode, format="binary")
    await connection.set_type_codec("jsonb", schema="pg_catalog", encoder=encode_json, decoder=decode_json)


async def _close(connection: asyncpg.Connection) -> None:
    """End a session in order, or at once when the server does not answer."""
    try:
        await connection.execute("SELECT pg_advisory_unlock_all()", timeout=_PING_S)
        await connection.close(timeout=_PING_S)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError):
        connection.terminate()


async def _keep(connection: asyncpg.Connection) -> None:
    """Leave a session as it is when it goes back: nothing here changes one for longer than a transaction."""
