"""Documents with all that decides on their standing: their own word, and who may have replaced them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recalld.store.database import Database
from recalld.store.edges import edge_of
from recalld.store.text import unescape_all
from recalld.trust.graph import Member
from recalld.trust.members import member

_DECLARED = "e.kind <> 'link' AND e.source <> 'prose'"
AROUND = f"""
    WITH RECURSIVE near (id) AS (
        SELECT unnest($1::bigint[])
        UNION
        SELECT further.id FROM near CROSS JOIN LATERAL (
            SELECT names, repo_id FROM document WHERE id = near.id OFFSET 0
        ) d CROSS JOIN LATERAL (
            SELECT by.id FROM edge e JOIN document by ON by.id = e.document_id
            WHERE {_DECLARED} AND e.names && d.names AND by.repo_id + 0 = d.repo_id
            UNION ALL
            SELECT meant.id FROM edge e JOIN document meant ON meant.names && e.names
            WHERE {_DECLARED} AND e.document_id = near.id AND meant.repo_id + 0 = d.repo_id
        ) further
    )
    SELECT d.id, r.name AS repo, d.path, d.title, d.aliases, d.metadata, d.first_indexed_at,
           EXISTS (SELECT FROM edge e WHERE {_DECLARED} AND e.document_id = d.id) AS claims
    FROM document d JOIN repo r ON r.id = d.repo_id WHERE d.id = ANY(ARRAY(SELECT id FROM near)) AND d.text IS NOT NULL
"""
"""``+ 0`` and ``OFFSET 0`` keep Postgres to the indexes of ids and names: by its estimates, which nothing corrects
right after a bulk of new documents, it would read every document of the repo for every claim."""

_CLAIMS = f"SELECT e.* FROM edge e WHERE {_DECLARED} AND e.document_id = ANY($1::bigint[]) ORDER BY e.line"


class Standings:
    """Reads the neighbourhood of documents in the supersession graph.

    Nothing of the graph is stored but the names and claims of each document, written with it in one transaction; what a
    claim means is decided by :class:`recalld.trust.graph.Graph` from the documents that share a name with it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def around(self, document_ids: Sequence[int]) -> list[Member]:
        """Return documents and, as far as claims reach, every document that could decide on their standing."""
        async with self._database.reading() as connection:
            rows = await connection.fetch(AROUND, list(document_ids))
            claiming = [row["id"] for row in rows if row["claims"]]
            edges = await connection.fetch(_CLAIMS, claiming) if claiming else ()
        by_document: dict[int, list[Any]] = {}
        for edge in edges:
            by_document.setdefault(edge["document_id"], []).append(edge)
        return [_member(row, by_document.get(row["id"], ())) for row in rows]


def _member(row: Any, edges: Sequence[Any]) -> Member:
    claims = [(edge_of(edge), edge["asserted_at"]) for edge in edges]
    aliases = unescape_all(row["aliases"])
    return member(
        row["id"], row["repo"], row["path"], row["title"], aliases, row["metadata"], claims, row["first_indexed_at"]
    )
