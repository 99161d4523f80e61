"""Receipts: which documents each answer relied on, and what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recalld.store.database import Database
from recalld.store.text import escape_all
from recalld.trust.receipts import Break, Citation
from recalld.trust.verdict import Moment

_STANDING = """
    SELECT c.*, r.agent, r.query, r.as_of, r.known_as_of, r.at, r.abstained
    FROM citation c JOIN receipt r ON r.id = c.receipt_id WHERE c.happened IS NULL
"""

_ADD = """
    WITH unhurried AS (SELECT set_config('synchronous_commit', 'off', true) AS how),
    made AS (INSERT INTO receipt SELECT $1, $2, $3, $4, $5, $6, $7 FROM unhurried RETURNING id)
    INSERT INTO citation (receipt_id, document_id, repo, path, content_hash, valid_until)
    SELECT made.id, cited.*
    FROM made, unnest($8::bigint[], $9::text[], $10::text[], $11::text[], $12::timestamptz[]) cited
"""
"""One statement, for a search waits for it; the setting holds for the transaction that the statement is."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """An answer that was given. ``as_of`` and ``known_as_of`` are None where the question named no time."""

    id: str
    agent: str
    query: str
    abstained: bool
    as_of: datetime | None
    known_as_of: datetime | None
    at: datetime

    def moment(self, now: datetime) -> Moment:
        """Return the clocks at which the answer is judged again."""
        return Moment(self.as_of or now, self.known_as_of)


@dataclass(frozen=True, slots=True)
class Reliance:
    """One citation of one receipt; ``broken`` says what happened to it and when, None while it stands."""

    receipt: Receipt
    citation: Citation
    broken: Break | None = None
    broken_at: datetime | None = None


class Receipts:
    """Keeps receipts and marks their citations as broken, each once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, receipt: Receipt, citations: Sequence[Citation]) -> None:
        """Keep a receipt. Not waited for on disk: a crash of Postgres may lose the last of them."""
        async with self._database.session() as connection:
            await connection.execute(
                _ADD, receipt.id, receipt.agent, receipt.query, receipt.abstained, receipt.as_of, receipt.known_as_of,
                receipt.at, [c.document_id for c in citations], [c.repo for c in citations],
                escape_all([c.path for c in citations]), [c.content_hash for c in citations],
                [c.valid_until for c in citations],
            )  # fmt: skip

    async def relying_on(self, document_ids: Sequence[int]) -> list[Reliance]:
        """Return the citations of documents that still stand."""
        async with self._database.session() as connection:
            rows = await connection.fetch(f"{_STANDING} AND c.document_id = ANY($1::bigint[])", list(document_ids))
        return [_reliance(row) for row in rows]

    async def overdue(self, now: datetime, limit: int) -> list[int]:
        """Return documents whose citations stand though they ended, changed or went."""
        async with self._database.session() as connection:
            rows = await connection.fetch(
                """
                SELECT DISTINCT c.document_id FROM citation c JOIN receipt r ON r.id = c.receipt_id
                LEFT JOIN document d ON d.id = c.document_id
                WHERE c.happened IS NULL AND (
                    (c.valid_until < $1 AND r.as_of IS NULL) OR d.text IS NULL OR d.text_hash <> c.content_hash
                ) LIMIT $2
                """,
                now, limit,
            )  # fmt: skip
        return [row["document_id"] for row in rows]

    async def any_standing(self) -> bool:
        """Tell whether any answer relies on anything."""
        async with self._database.session() as connection:
            return bool(await connection.fetchval("SELECT EXISTS (SELECT FROM citation WHERE happened IS NULL)"))

    async def mark(self, reliance: Reliance, broken: Break, at: datetime) -> bool:
        """Mark a citation as broken; False when it was already."""
        async with self._database.writing() as connection:
            done = await connection.execute(
                """
                UPDATE citation SET happened = $3, reason = $4, successor = $5, broken_at = $6
                WHERE receipt_id = $1 AND document_id = $2 AND happened IS NULL
                """,
                reliance.receipt.id, reliance.citation.document_id, broken.happened, broken.reason, broken.successor,
                at,
            )  # fmt: skip
        return bool(done == "UPDATE 1")

    async def get(self, id_: str, agent: str) -> tuple[Receipt, list[Reliance]] | None:
        """Return an agent's receipt with all that it cites."""
        async with self._database.session() as connection:
            row = await connection.fetchrow("SELECT * FROM receipt WHERE id = $1 AND agent = $2", id_, agent)
            if row is None:
                return None
            receipt = _receipt(row, row["id"])
            cited = await connection.fetch("SELECT * FROM citation WHERE receipt_id = $1 ORDER BY repo, path", id_)
        return receipt, [_cited(receipt, row) for row in cited]

    async def newest(self, agent: str, limit: int) -> list[tuple[Receipt, int, int]]:
        """Return an agent's newest receipts, with how many citations each has and how many of them are broken."""
        async with self._database.session() as connection:
            rows = await connection.fetch(
                """
                SELECT r.*, count(c.document_id) AS cited, count(c.happened) AS broken
                FROM receipt r LEFT JOIN citation c ON c.receipt_id = r.id
                WHERE r.agent = $1 GROUP BY r.id ORDER BY r.at DESC, r.id LIMIT $2
                """,
                agent, limit,
            )  # fmt: skip
        return [(_receipt(row, row["id"]), row["cited"], row["broken"]) for row in rows]

    async def hashes(self, document_ids: Sequence[int]) -> dict[int, str]:
        """Return the hash of what is held of each document; one of which nothing is held is left out."""
        async with self._database.session() as connection:
            rows = await connection.fetch(
                "SELECT id, text_hash FROM document WHERE id = ANY($1::bigint[]) AND text IS NOT NULL",
                list(document_ids),
            )
        return {row["id"]: row["text_hash"] for row in rows}

    async def ids_of(self, places: Sequence[tuple[int, str]]) -> list[int]:
        """Return the ids of documents at places (repo id and path)."""
        async with self._database.session() as connection:
            rows = await connection.fetch(
                """
                SELECT d.id FROM unnest($1::int[], $2::text[]) AS p (repo_id, path)
                JOIN document d ON d.repo_id = p.repo_id AND d.path = p.path
                """,
                [repo_id for repo_id, _ in places],
                escape_all([path for _, path in places]),
            )
        return [row["id"] for row in rows]

    async def recited(self, agent: str, since: datetime, limit: int) -> list[tuple[str, str, str, str]]:
        """Return what an agent was lately told of, newest first: receipt, repo, path and the text as it is held."""
        async with self._database.session() as connection:
            rows = await connection.fetch(
                """
                SELECT DISTINCT ON (d.id) r.id, r.at, c.repo, c.path, d.text
                FROM receipt r JOIN citation c ON c.receipt_id = r.id JOIN document d ON d.id = c.document_id
                WHERE r.agent = $1 AND r.at >= $2 AND d.text IS NOT NULL ORDER BY d.id, r.at DESC
                """,
                agent, since,
            )  # fmt: skip
        newest = sorted(rows, key=lambda row: row["at"], reverse=True)[:limit]
        return [(row["id"], row["repo"], row["path"], row["text"]) for row in newest]

    async def known(self, ids: Sequence[str]) -> list[str]:
        """Return those of some ids that are receipts, whoever's."""
        async with self._database.session() as connection:
            rows = await connection.fetch("SELECT id FROM receipt WHERE id = ANY($1::text[])", list(ids))
        return [row["id"] for row in rows]

    async def prune(self, before: datetime) -> int:
        """Drop the receipts from before a time; return how many."""
        async with self._database.session() as connection:
            done = await connection.execute("DELETE FROM receipt WHERE at < $1", before)
        return int(done.split()[-1])


def _receipt(row: Any, id_: str) -> Receipt:
    return Receipt(id_, row["agent"], row["query"], row["abstained"], row["as_of"], row["known_as_of"], row["at"])


def _reliance(row: Any) -> Reliance:
    return _cited(_receipt(row, row["receipt_id"]), row)


def _cited(receipt: Receipt, row: Any) -> Reliance:
    citation = Citation(row["document_id"], row["repo"], row["path"], row["content_hash"], row["valid_until"])
    broken = Break(row["happened"], row["reason"], row["successor"]) if row["happened"] else None
    return Reliance(receipt, citation, broken, row["broken_at"])
