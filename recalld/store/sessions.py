"""Sessions: conversations of one agent, message by message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from recalld.store.database import Database


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation. ``messages`` counts what was said in it."""

    id: str
    agent: str
    title: str
    created_at: datetime
    updated_at: datetime
    messages: int = 0


@dataclass(frozen=True, slots=True)
class Message:
    """What was said: ``role`` is ``user`` or ``memory``; ``standalone`` is what a follow-up was taken to mean."""

    role: str
    text: str
    at: datetime
    standalone: str = ""
    receipt: str = ""
    number: int = 0


class Sessions:
    """Keeps conversations; an agent knows its own alone."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, session: Session) -> bool:
        """Begin a session; return whether there was none of this id."""
        async with self._database.session() as connection:
            done = await connection.execute(
                "INSERT INTO session VALUES ($1, $2, $3, $4, $4) ON CONFLICT DO NOTHING",
                session.agent, session.id, session.title, session.created_at,
            )  # fmt: skip
        return done.endswith(" 1")

    async def get(self, agent: str, id_: str) -> Session | None:
        """Return a session."""
        return next(iter(await self._where("s.agent = $1 AND s.id = $2", agent, id_)), None)

    async def newest(self, agent: str, limit: int) -> list[Session]:
        """Return the sessions of an agent, the one used last first."""
        return await self._where("s.agent = $1 ORDER BY s.updated_at DESC, s.id LIMIT $2", agent, limit)

    async def rename(self, agent: str, id_: str, title: str) -> bool:
        """Give a session another title; return whether there is one."""
        async with self._database.session() as connection:
            done = await connection.execute(
                "UPDATE session SET title = $3 WHERE agent = $1 AND id = $2", agent, id_, title
            )
        return done.endswith(" 1")

    async def delete(self, agent: str, id_: str) -> bool:
        """Drop a session with all that was said; return whether there was one."""
        async with self._database.session() as connection:
            done = await connection.execute("DELETE FROM session WHERE agent = $1 AND id = $2", agent, id_)
        return done.endswith(" 1")

    async def say(self, agent: str, id_: str, said: Sequence[Message]) -> None:
        """Add messages to a session, in order; one that was deleted meanwhile stays so."""
        async with self._database.writing() as connection:
            there = await connection.fetchval(
                "UPDATE session SET updated_at = $3 WHERE agent = $1 AND id = $2 RETURNING true",
                agent, id_, said[-1].at,
            )  # fmt: skip
            if not there:
                return
            last = await connection.fetchval(
                "SELECT coalesce(max(number), 0) FROM session_message WHERE agent = $1 AND session_id = $2", agent, id_
            )
            await connection.executemany(
                "INSERT INTO session_message VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                [
                    (agent, id_, last + number, one.role, one.text, one.standalone, one.receipt, one.at)
                    for number, one in enumerate(said, 1)
                ],
            )

    async def messages(self, agent: str, id_: str, limit: int) -> list[Message]:
        """Return the last messages of a session, in order."""
        async with self._database.session() as connection:
            rows = await connection.fetch(
                """
                SELECT role, text, at, standalone, receipt, number FROM session_message
                WHERE agent = $1 AND session_id = $2 ORDER BY number DESC LIMIT $3
                """,
                agent, id_, limit,
            )  # fmt: skip
        return [Message(**row) for row in reversed(rows)]

    async def prune(self, before: datetime) -> int:
        """Drop the sessions that were not used since a time; return how many."""
        async with self._database.session() as connection:
            done = await connection.execute("DELETE FROM session WHERE updated_at < $1", before)
        return int(done.split()[-1])

    async def _where(self, condition: str, *arguments: object) -> list[Session]:
        async with self._database.session() as connection:
            rows = await connection.fetch(
                f"""
                SELECT s.id, s.agent, s.title, s.created_at, s.updated_at, (
                    SELECT count(*) FROM session_message m WHERE m.agent = s.agent AND m.session_id = s.id
                ) AS messages FROM session s WHERE {condition}
                """,
                *arguments,
            )
        return [Session(**row) for row in rows]
