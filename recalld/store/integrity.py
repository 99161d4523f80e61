"""Whether the index fits together: what hangs on nothing, and what is missing. Reads at one moment, repairs nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from recalld.store.database import Database
from recalld.store.rows import Fault

TIMEOUT_S = 300.0
"""Each check may read a whole table (seconds)."""
SHOWN = 200
"""Documents that one check names at most; the counts are of all."""

_OF_DOCUMENTS: Mapping[str, str] = {
    "missing-in-generation": """
        SELECT d.id, count(*) AS faults, '' AS detail FROM document d CROSS JOIN generation g
        WHERE g.state = 'serving' AND d.text IS NOT NULL AND NOT EXISTS (
            SELECT FROM document_generation x WHERE x.generation_id = g.id AND x.document_id = d.id
        ) GROUP BY d.id
    """,
    "chunk-without-generation": """
        SELECT c.document_id AS id, count(*) AS faults, '' AS detail FROM chunk c WHERE NOT EXISTS (
            SELECT FROM document_generation x WHERE x.generation_id = c.generation_id AND x.document_id = c.document_id
        ) GROUP BY c.document_id
    """,
    "chunk-without-postings": """
        SELECT c.document_id AS id, count(*) AS faults, '' AS detail FROM chunk c
        WHERE cardinality(c.terms) > 0 AND NOT EXISTS (SELECT FROM posting p WHERE p.chunk_id = c.id)
        GROUP BY c.document_id
    """,
    "chunk-without-vector": """
        SELECT c.document_id AS id, count(*) AS faults, '' AS detail FROM chunk c
        WHERE NOT EXISTS (SELECT FROM chunk_vector v WHERE v.chunk_id = c.id) GROUP BY c.document_id
    """,
    "contents-without-text": """
        SELECT d.id, count(*) AS faults, '' AS detail FROM document d WHERE d.text IS NULL AND (
            EXISTS (SELECT FROM chunk c WHERE c.document_id = d.id)
            OR EXISTS (SELECT FROM document_generation x WHERE x.document_id = d.id)
        ) GROUP BY d.id
    """,
    "edge-without-file": """
        SELECT d.id, count(*) AS faults, '' AS detail FROM edge e JOIN document d ON d.id = e.document_id
        WHERE d.text IS NULL OR d.state IN ('deleted', 'forgotten', 'skipped') GROUP BY d.id
    """,
    "claim-without-target": """
        SELECT d.id, count(*) AS faults, string_agg(e.target, ', ' ORDER BY e.line, e.target) AS detail
        FROM edge e JOIN document d ON d.id = e.document_id
        WHERE e.kind <> 'link' AND e.source <> 'prose' AND cardinality(e.names) > 0 AND NOT EXISTS (
            SELECT FROM document t WHERE t.names && e.names AND t.repo_id + 0 = d.repo_id AND t.text IS NOT NULL
        ) GROUP BY d.id
    """,
}
"""What is wrong with a document; code to a query for its id, how often, and what more there is to say."""

_OF_NOTHING: Mapping[str, str] = {
    "posting-without-chunk": """
        SELECT count(*) FROM posting p WHERE NOT EXISTS (SELECT FROM chunk c WHERE c.id = p.chunk_id)
    """,
    "vector-without-chunk": """
        SELECT count(*) FROM (SELECT chunk_id FROM chunk_vector UNION ALL SELECT chunk_id FROM chunk_bits) v
        WHERE NOT EXISTS (SELECT FROM chunk c WHERE c.id = v.chunk_id)
    """,
}
"""What belongs to no document any more; code to a query for how many there are."""

CHECKS = (*_OF_DOCUMENTS, *_OF_NOTHING)


class Integrity:
    """Looks for what a crash, a restored backup or a fault of this code could have left."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def faults(self, about: Callable[[int, int, str], None]) -> dict[str, tuple[int, list[Fault]]]:
        """Return for each of ``CHECKS`` how many faults it found, and the documents that they are of.

        At most ``SHOWN`` documents are named. All checks see one moment, so writers that go on do not look like faults.
        ``about`` is told how many checks are done, of how many, and the one that comes.
        """
        found: dict[str, tuple[int, list[Fault]]] = {}
        async with self._database.glimpse() as connection:
            await connection.execute(f"SET LOCAL statement_timeout = {int(TIMEOUT_S * 1_000)}")
            for code, query in _OF_DOCUMENTS.items():
                about(len(found), len(CHECKS), code)
                rows = await connection.fetch(
                    f"""
                    SELECT r.name, d.path, f.faults, f.detail, sum(f.faults) OVER () AS total
                    FROM ({query}) f JOIN document d ON d.id = f.id JOIN repo r ON r.id = d.repo_id
                    WHERE NOT r.removed ORDER BY r.name, d.path LIMIT {SHOWN}
                    """,
                    timeout=TIMEOUT_S,
                )
                faults = [Fault(code, row["name"], row["path"], row["faults"], row["detail"]) for row in rows]
                found[code] = (int(rows[0]["total"]) if rows else 0, faults)
            for code, query in _OF_NOTHING.items():
                about(len(found), len(CHECKS), code)
                found[code] = (int(await connection.fetchval(query, timeout=TIMEOUT_S)), [])
        return found
