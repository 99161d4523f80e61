"""What answerers were paid for: tokens a day, so that a budget holds across restarts and nodes."""

from __future__ import annotations

from datetime import date

from recalld.store.database import Database


class Spending:
    """Adds up tokens by day (UTC) and answerer."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, day: date, answerer: str) -> int:
        """Return the tokens that an answerer took on a day."""
        async with self._database.session() as connection:
            found = await connection.fetchval(
                "SELECT tokens FROM answerer_spending WHERE day = $1 AND answerer = $2", day, answerer
            )
        return int(found or 0)

    async def reserve(self, day: date, answerer: str, tokens: int, most: int) -> bool:
        """Count tokens that may be taken, unless a day would then have more than ``most``; tell whether they count."""
        async with self._database.session() as connection:
            found = await connection.fetchval(
                """
                INSERT INTO answerer_spending AS s (day, answerer, tokens)
                SELECT $1, $2, $3::bigint WHERE $3::bigint <= $4
                ON CONFLICT (day, answerer) DO UPDATE SET tokens = s.tokens + excluded.tokens
                WHERE s.tokens + excluded.tokens <= $4 RETURNING tokens
                """,
                day, answerer, tokens, most,
            )  # fmt: skip
        return found is not None

    async def add(self, day: date, answerer: str, tokens: int) -> None:
        """Count tokens; fewer than none are given back."""
        async with self._database.session() as connection:
            await connection.execute(
                """
                INSERT INTO answerer_spending AS s (day, answerer, tokens) VALUES ($1, $2, $3)
                ON CONFLICT (day, answerer) DO UPDATE SET tokens = s.tokens + excluded.tokens
                """,
                day, answerer, tokens,
            )  # fmt: skip
