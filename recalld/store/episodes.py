"""Episodes: questions that were answered, found again by their words or their vectors, under keys that are exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
from pgvector import HalfVector

from recalld.model import Filters, Vector
from recalld.store import locks
from recalld.store.database import Database
from recalld.store.filters import where
from recalld.trust.receipts import Citation

_COLUMNS = "e.*, v.embedding"
_SOURCES = """
    LEFT JOIN LATERAL (
        SELECT jsonb_agg(
            jsonb_build_array(document_id, repo, path, content_hash, valid_until) ORDER BY document_id
        ) AS of FROM episode_source WHERE episode_id = e.id
    ) sources ON true
"""

_THESE_WORDS = "key = $1 AND hashtextextended(normal, 0) = hashtextextended($2, 0) AND normal = $2 AND ended_at IS NULL"
ALIKE = f"""
    e.id IN (
        SELECT id FROM episode WHERE {_THESE_WORDS}
        UNION SELECT id FROM episode WHERE key = $1 AND gist = $3 AND gist <> '' AND ended_at IS NULL
    ) ORDER BY (e.normal = $2) DESC, e.at DESC, e.id DESC LIMIT $4
"""
"""Two looks into two indexes: asked for in one condition, Postgres reads all episodes of the key."""


@dataclass(frozen=True, slots=True)
class Episode:
    """A question that was answered. ``key`` holds whatever must be equal for its answer to be another's.

    ``gist`` is equal for questions that may be one in other words, "" for those that are like no other. ``citations``
    are the passages as they were shown, ``sources`` the documents they are of. ``floor`` is the lowest cosine of a
    passage that the answer relies on (None: not known), ``indexed_at`` until when the index was looked at.
    """

    key: str
    generation_id: int
    question: str
    normal: str
    gist: str
    asks: str
    scope: str
    answer: str
    answerer: str
    confidence: float | None
    negative: bool
    citations: Sequence[Mapping[str, Any]]
    sources: Sequence[Citation]
    floor: float | None
    as_of: datetime | None
    known_as_of: datetime | None
    agent: str
    at: datetime
    indexed_at: datetime | None
    vector: Vector = field(compare=False)
    id: int = 0
    served: int = 0
    helped: int = 0
    failed: int = 0
    corrected: int = 0
    last_served_at: datetime | None = None
    ended_at: datetime | None = None
    ended: str = ""
    similarity: float = field(default=1.0, compare=False)


class Episodes:
    """Keeps episodes; those that ended stay for a while, so that it can be told why."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def remember(self, episode: Episode) -> int:
        """Keep an episode in the place of the one with its key and words, if any; return its id."""
        async with self._database.writing(alone=[locks.episode(episode.key, episode.normal)]) as connection:
            before = await connection.fetchrow(
                f"UPDATE episode SET ended_at = $3, ended = 'replaced' WHERE {_THESE_WORDS} RETURNING id",
                episode.key, episode.normal, episode.at,
            )  # fmt: skip
            if before is not None:
                await connection.execute("DELETE FROM episode_vector WHERE episode_id = $1", before["id"])
            id_: int = await connection.fetchval(
                """
                INSERT INTO episode (key, generation_id, question, normal, gist, asks, scope, answer, answerer,
                    confidence, negative, citations, floor, as_of, known_as_of, agent, at, indexed_at, corrected)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
                RETURNING id
                """,
                episode.key, episode.generation_id, episode.question, episode.normal, episode.gist, episode.asks,
                episode.scope, episode.answer, episode.answerer, episode.confidence, episode.negative,
                [dict(one) for one in episode.citations], episode.floor, episode.as_of, episode.known_as_of,
                episode.agent, episode.at, episode.indexed_at, episode.corrected,
            )  # fmt: skip
            await connection.execute(
                "INSERT INTO episode_vector VALUES ($1, $2)", id_, HalfVector(episode.vector.astype(np.float16))
            )
            await connection.executemany(
                "INSERT INTO episode_source VALUES ($1, $2, $3, $4, $5, $6)",
                [
                    (id_, one.document_id, one.repo, one.path, one.content_hash, one.valid_until)
                    for one in episode.sources
                ],
            )
        return id_

    async def alike(self, key: str, normal: str, gist: str, limit: int) -> list[Episode]:
        """Return the episodes of these words or this gist under a key: the same words first, then the newest."""
        return await self._where(ALIKE, key, normal, gist, limit)

    async def newer(self, episode: Episode, filters: Filters, most: int) -> tuple[int, tuple[str, str, float] | None]:
        """Return how many passages were indexed since an episode, and the one nearest to its question.

        That one comes as repo, path and cosine; it is looked for among ``most`` passages at most, and is None where
        there are more: then nobody knows.
        """
        where_ = where(filters, first=5)
        async with self._database.session() as connection:
            row = await connection.fetchrow(
                f"""
                WITH since AS MATERIALIZED (
                    SELECT c.id, r.name, d.path FROM document d JOIN repo r ON r.id = d.repo_id
                    JOIN chunk c ON c.document_id = d.id AND c.generation_id = $1
                    WHERE d.indexed_at > $2 AND {where_} LIMIT $3 + 1
                ), best AS (
                    SELECT s.name, s.path, 1 - (v.embedding <=> $4) AS cosine FROM since s
                    JOIN chunk_vector v ON v.chunk_id = s.id ORDER BY v.embedding <=> $4 LIMIT 1
                )
                SELECT (SELECT count(*) FROM since) AS count, best.* FROM (SELECT 1) AS one LEFT JOIN best ON true
                """,
                episode.generation_id, episode.indexed_at, most, HalfVector(episode.vector.astype(np.float16)),
                *where_.arguments,
            )  # fmt: skip
        assert row is not None
        if row["count"] > most or row["cosine"] is None:
            return row["count"], None
        return row["count"], (row["name"], row["path"], row["cosine"])

    async def newest_indexed(self) -> datetime | None:
        """Return when a document was indexed last."""
        async with self._database.session() as connection:
            found: datetime | None = await connection.fetchval("SELECT max(indexed_at) FROM document")
        return found

    async def served(self, id_: int, at: datetime) -> None:
        """Count that an episode was served."""
        async with self._database.session() as connection:
            await connection.execute(
                "UPDATE episode SET served = served + 1, last_served_at = $2 WHERE id = $1", id_, at
            )

    async def mark(self, id_: int, outcome: str) -> Episode | None:
        """Count an outcome, ``helped`` or ``failed``; return the episode, None where there is none."""
        assert outcome in ("helped", "failed")
        async with self._database.session() as connection:
            await connection.execute(f"UPDATE episode SET {outcome} = {outcome} + 1 WHERE id = $1", id_)
        return await self.get(id_)

    async def end(self, ids: Sequence[int], why: str, at: datetime) -> int:
        """Serve episodes no longer; return how many ended now."""
        async with self._database.writing() as connection:
            rows = await connection.fetch(
                "UPDATE episode SET ended_at = $3, ended = $2 WHERE id = ANY($1::bigint[]) AND ended_at IS NULL "
                "RETURNING id",
                list(ids), why, at,
            )  # fmt: skip
            await connection.execute("DELETE FROM episode_vector WHERE episode_id = ANY($1::bigint[])", list(ids))
        return len(rows)

    async def get(self, id_: int) -> Episode | None:
        """Return an episode, ended or not."""
        return next(iter(await self._where("e.id = $1", id_)), None)

    async def listed(self, agent: str | None, ended: bool, limit: int) -> list[Episode]:
        """Return the newest episodes of an agent (None: of all), with or without those that ended."""
        condition = "($1::text IS NULL OR e.agent = $1) AND ($2 OR e.ended_at IS NULL)"
        return await self._where(f"{condition} ORDER BY e.at DESC, e.id DESC LIMIT $3", agent, ended, limit)

    async def regist(self, gists: Mapping[int, str]) -> None:
        """Write the gists of episodes, by id: those that were remembered by other rules than today's."""
        async with self._database.writing() as connection:
            await connection.executemany("UPDATE episode SET gist = $2 WHERE id = $1", list(gists.items()))

    async def standing(self, after: int, limit: int) -> list[Episode]:
        """Return episodes that have not ended, by id, those after one id."""
        return await self._where("e.ended_at IS NULL AND e.id > $1 ORDER BY e.id LIMIT $2", after, limit)

    async def fitted(self, embedder: str) -> Any:
        """Return the newest fitted model for an embedder as plain JSON, None where there is none."""
        async with self._database.session() as connection:
            return await connection.fetchval(
                "SELECT model FROM episode_calibration WHERE embedder = $1 ORDER BY id DESC LIMIT 1", embedder
            )

    async def keep_fitted(self, embedder: str, model: Mapping[str, Any], at: datetime) -> None:
        """Keep a fitted model."""
        async with self._database.session() as connection:
            await connection.execute(
                "INSERT INTO episode_calibration (fitted_at, embedder, model) VALUES ($1, $2, $3)",
                at, embedder, dict(model),
            )  # fmt: skip

    async def counts(self) -> tuple[int, int]:
        """Return how many episodes stand, and how many ended."""
        async with self._database.session() as connection:
            row = await connection.fetchrow(
                "SELECT count(*) FILTER (WHERE ended_at IS NULL) AS stand, count(ended_at) AS ended FROM episode"
            )
        assert row is not None
        return row["stand"], row["ended"]

    async def prune(self, before: datetime) -> int:
        """Drop what ended before a time; return how many."""
        async with self._database.session() as connection:
            done = await connection.execute("DELETE FROM episode WHERE ended_at < $1", before)
        return int(done.split()[-1])

    async def _where(self, condition: str, *arguments: Any) -> list[Episode]:
        async with self._database.session() as connection:
            rows = await connection.fetch(
                f"""
                SELECT {_COLUMNS}, sources.of AS sources
                FROM episode e LEFT JOIN episode_vector v ON v.episode_id = e.id {_SOURCES} WHERE {condition}
                """,
                *arguments,
            )
        return [_episode(row) for row in rows]


_SAME = tuple(name for name in Episode.__dataclass_fields__ if name not in ("sources", "vector", "similarity"))


def _episode(row: Any) -> Episode:
    vector = row["embedding"]
    return Episode(
        **{name: row[name] for name in _SAME},
        sources=[_source(one) for one in row["sources"] or ()],
        vector=np.zeros(0, np.float32) if vector is None else vector.to_numpy().astype(np.float32),
    )


def _source(one: Sequence[Any]) -> Citation:
    document_id, repo, path, content_hash, valid_until = one
    until = None if valid_until is None else datetime.fromisoformat(valid_until)
    return Citation(document_id, repo, path, content_hash, until)
