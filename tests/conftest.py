"""Real servers for tests: one Postgres a session, a fresh database and a fresh NATS server a test.

``RECALLD_TEST_PG`` (a dsn that may create databases, with pgvector installed) and ``RECALLD_TEST_NATS`` (the url of a
server with JetStream and nothing of value in it) take the place of the embedded ones.
"""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator

import pytest

from recalld.embedded.postgres import EmbeddedPostgres
from tests.support.directories import short_directory
from tests.support.nats import emptied_nats, fresh_nats
from tests.support.postgres import FAST, drop_database, fresh_database, make_template


def pytest_configure() -> None:
    """Let the programs that tests start be signalled: a shell's background job passes on that it ignores SIGINT,
    one under nohup that it ignores SIGHUP."""
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """asyncpg and nats-py know asyncio only."""
    return "asyncio"


@pytest.fixture(scope="session")
async def postgres_server(anyio_backend: str) -> AsyncIterator[str]:
    """The dsn of a server on which databases may be made."""
    given = os.environ.get("RECALLD_TEST_PG")
    if given:
        yield given
        return
    with short_directory() as directory:
        async with await EmbeddedPostgres.start(directory, settings=FAST) as server:
            yield server.dsn


@pytest.fixture(scope="session")
async def postgres_template(postgres_server: str) -> AsyncIterator[str]:
    """The name of the migrated database that the others are copied from."""
    name = await make_template(postgres_server)
    yield name
    await drop_database(postgres_server, name)


@pytest.fixture
async def postgres(postgres_server: str, postgres_template: str) -> AsyncIterator[str]:
    """The dsn of a fresh database with the newest schema."""
    async with fresh_database(postgres_server, postgres_template) as dsn:
        yield dsn


@pytest.fixture
async def empty_postgres(postgres_server: str) -> AsyncIterator[str]:
    """The dsn of a fresh database with nothing in it, not even pgvector."""
    async with fresh_database(postgres_server, None) as dsn:
        yield dsn


@pytest.fixture
async def nats() -> AsyncIterator[str]:
    """The url, with user and password, of a server with an empty JetStream."""
    given = os.environ.get("RECALLD_TEST_NATS")
    async with emptied_nats(given) if given else fresh_nats() as url:
        yield url
