"""Fresh databases for tests: each is copied from one migrated template."""

from __future__ import annotations

import importlib.util
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit, urlunsplit

import asyncpg

# Nothing here has to survive a power cut.
FAST = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "autovacuum": "off",
    "shared_buffers": "64MB",
    "max_connections": "100",
}


def with_database(dsn: str, name: str) -> str:
    """Return the dsn of another database on the same server."""
    return urlunsplit(urlsplit(dsn)._replace(path=f"/{name}"))


async def make_template(admin_dsn: str) -> str:
    """Make a database with pgvector and the newest schema; return its name."""
    name = f"recalld_template_{secrets.token_hex(4)}"
    admin = await asyncpg.connect(admin_dsn)
    try:
        await admin.execute(f"CREATE DATABASE {name}")
    finally:
        await admin.close()
    dsn = with_database(admin_dsn, name)
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    finally:
        await connection.close()
    if importlib.util.find_spec("recalld.store.migrate") is not None:
        from recalld.store.migrate import migrate

        await migrate(dsn)
    return name


async def drop_database(admin_dsn: str, name: str) -> None:
    admin = await asyncpg.connect(admin_dsn)
    try:
        await admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    finally:
        await admin.close()


@asynccontextmanager
async def fresh_database(admin_dsn: str, template: str | None) -> AsyncIterator[str]:
    """Make a database, yield its dsn, drop it. Without a template it is empty, without pgvector."""
    name = f"recalld_test_{secrets.token_hex(6)}"
    # The template is small, so copying its files is faster than logging them, and fsync is off.
    source = f"TEMPLATE {template} STRATEGY FILE_COPY" if template else ""
    admin = await asyncpg.connect(admin_dsn)
    try:
        await admin.execute(f"CREATE DATABASE {name} {source}")
    finally:
        await admin.close()
    try:
        yield with_database(admin_dsn, name)
    finally:
        await drop_database(admin_dsn, name)
