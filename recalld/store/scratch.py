"""Databases that are made for one purpose and may be thrown away, beside each other on one server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from recalld.store.database import translated


class Scratch:
    """Makes, lists and drops databases whose names begin with ``prefix``; each carries facts about itself as JSON.

    ``dsn`` is of any database on the server, with a role that may create databases. Raises DependencyError.
    """

    def __init__(self, dsn: str, prefix: str) -> None:
        self._dsn = dsn
        self._prefix = prefix

    def dsn(self, name: str) -> str:
        """Return how to reach one of the databases."""
        return urlunsplit(urlsplit(self._dsn)._replace(path=f"/{self._prefix}{name}"))

    async def all(self) -> dict[str, Mapping[str, Any]]:
        """Return the databases by name with their facts; none for one that was never finished."""
        rows = await self._fetch(
            """
            SELECT datname AS name, shobj_description(oid, 'pg_database') AS facts
            FROM pg_database WHERE datname ^@ $1
            """,
            self._prefix,
        )
        return {row["name"].removeprefix(self._prefix): json.loads(row["facts"] or "{}") for row in rows}

    async def create(self, name: str) -> None:
        """Make an empty database, in place of one of that name."""
        await self.drop(name)
        await self._execute(f'CREATE DATABASE "{self._prefix}{name}"')

    async def note(self, name: str, facts: Mapping[str, Any]) -> None:
        """Replace what a database says of itself."""
        quoted = json.dumps(facts).replace("'", "''")
        await self._execute(f"COMMENT ON DATABASE \"{self._prefix}{name}\" IS '{quoted}'")

    async def size(self, name: str) -> int:
        """Return how many bytes a database takes on disk."""
        [row] = await self._fetch("SELECT pg_database_size($1) AS bytes", f"{self._prefix}{name}")
        return int(row["bytes"])

    async def drop(self, name: str) -> None:
        """Remove a database, if there is one, whoever is connected to it."""
        await self._execute(f'DROP DATABASE IF EXISTS "{self._prefix}{name}" WITH (FORCE)')

    async def _execute(self, statement: str) -> None:
        with translated():
            connection = await asyncpg.connect(self._dsn)
            try:
                await connection.execute(statement)
            finally:
                await connection.close()

    async def _fetch(self, query: str, *arguments: Any) -> list[asyncpg.Record]:
        with translated():
            connection = await asyncpg.connect(self._dsn)
            try:
                found: list[asyncpg.Record] = await connection.fetch(query, *arguments)
            finally:
                await connection.close()
        return found
