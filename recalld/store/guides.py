"""What guides acts: the documents of rules, skills and lessons, and the kinds that a repo gives its files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recalld.store.database import Database
from recalld.store.text import escape_all

_NAMED = "SELECT repo_id, path, text FROM document WHERE repo_id = ANY($1::int[]) AND path = ANY($2::text[])"
_GUIDES = """
    SELECT id, path, kind, text, metadata, text_hash, modified_at, first_indexed_at FROM document
    WHERE repo_id = $1 AND text IS NOT NULL AND (kind = ANY($2::text[]) OR metadata ? 'check') ORDER BY path
"""


_SIGNATURE = """
    SELECT count(*) || ' ' || coalesce(max(changed_in::text::bigint), 0) FROM document d
    WHERE repo_id = $1 AND (
        kind = ANY($2::text[]) OR metadata ? 'check' OR path = ANY($3::text[])
        OR EXISTS (SELECT FROM edge e WHERE e.document_id = d.id AND e.kind <> 'link')
    )
"""


@dataclass(frozen=True, slots=True)
class Guide:
    """A document that may say what to check; ``content_hash`` is of its bytes."""

    id: int
    path: str
    kind: str
    text: str
    metadata: Mapping[str, Any]
    content_hash: str
    modified_at: datetime | None
    first_indexed_at: datetime


class Guides:
    """Reads guides whole, and keeps the kinds of documents as their repo maps them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def named(self, repo_ids: Sequence[int], paths: Sequence[str]) -> dict[int, dict[str, str]]:
        """Return the texts of documents at some paths, by repo; what is not held is left out."""
        found: dict[int, dict[str, str]] = {}
        async with self._database.session() as connection:
            for row in await connection.fetch(_NAMED, list(repo_ids), list(paths)):
                if row["text"] is not None:
                    found.setdefault(row["repo_id"], {})[row["path"]] = row["text"]
        return found

    async def of(self, repo_id: int, kinds: Sequence[str]) -> list[Guide]:
        """Return a repo's documents of some kinds, and those with a line to check, by path."""
        async with self._database.session() as connection:
            rows = await connection.fetch(_GUIDES, repo_id, list(kinds))
        return [
            Guide(
                row["id"],
                row["path"],
                row["kind"],
                row["text"],
                row["metadata"],
                row["text_hash"],
                row["modified_at"],
                row["first_indexed_at"],
            )
            for row in rows
        ]

    async def signature(self, repo_id: int, kinds: Sequence[str], paths: Sequence[str]) -> str:
        """Return what differs once any document has changed that may decide on what guides."""
        async with self._database.session() as connection:
            return str(await connection.fetchval(_SIGNATURE, repo_id, list(kinds), list(paths)))

    async def rekind(self, repo_id: int, kind_of: Callable[[str, Mapping[str, Any]], str]) -> int:
        """Give each document of a repo the kind that its path and metadata make it; return how many changed."""
        async with self._database.writing() as connection:
            rows = await connection.fetch(
                "SELECT id, path, kind, metadata FROM document WHERE repo_id = $1 AND text IS NOT NULL", repo_id
            )
            kinds = {row["id"]: kind_of(row["path"], row["metadata"]) for row in rows}
            changed = [row["id"] for row in rows if kinds[row["id"]] != row["kind"]]
            await connection.execute(
                """
                UPDATE document d SET kind = n.kind, changed_in = pg_current_xact_id()
                FROM unnest($1::bigint[], $2::text[]) AS n (id, kind) WHERE d.id = n.id
                """,
                changed,
                escape_all([kinds[id_] for id_ in changed]),
            )
        return len(changed)
