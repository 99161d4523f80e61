"""What must hold of the index whatever was done to it."""

from __future__ import annotations

import asyncpg

_FAULTS = {
    "a posting without its chunk": """
        SELECT term, chunk_id FROM posting EXCEPT SELECT unnest(terms), id FROM chunk
    """,
    "a chunk without one of its postings": """
        SELECT unnest(terms), id FROM chunk EXCEPT SELECT term, chunk_id FROM posting
    """,
    "a chunk without its vector": "SELECT id FROM chunk EXCEPT SELECT chunk_id FROM chunk_vector",
    "a vector or signs without their chunk": """
        (SELECT chunk_id FROM chunk_vector UNION SELECT chunk_id FROM chunk_bits) EXCEPT SELECT id FROM chunk
    """,
    "a chunk in a generation that does not know its document": """
        SELECT generation_id, document_id FROM chunk EXCEPT SELECT generation_id, document_id FROM document_generation
    """,
    "contents of a document that holds none": """
        SELECT d.path FROM document d WHERE text IS NULL AND (
            EXISTS (SELECT FROM chunk WHERE document_id = d.id) OR EXISTS (SELECT FROM edge WHERE document_id = d.id)
            OR EXISTS (SELECT FROM document_generation WHERE document_id = d.id)
        )
    """,
    "a document whose state does not fit what it holds": """
        SELECT path FROM document WHERE state = 'indexed' AND text IS NULL
        OR state IN ('skipped', 'deleted', 'forgotten') AND text IS NOT NULL
    """,
    "two chunks at one place": """
        SELECT document_id, generation_id, ordinal FROM chunk GROUP BY 1, 2, 3 HAVING count(*) > 1
    """,
    "a remainder of a removed repo": "SELECT name FROM repo WHERE removed",
    "a lock that was not given back": """
        SELECT objid FROM pg_locks
        WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    """,
}


async def faults(dsn: str) -> dict[str, list[tuple[object, ...]]]:
    """Return what is wrong with an index that nobody is writing to, by what it means."""
    connection = await asyncpg.connect(dsn)
    try:
        found = {meaning: await connection.fetch(query) for meaning, query in _FAULTS.items()}
    finally:
        await connection.close()
    return {meaning: [tuple(row) for row in rows[:5]] for meaning, rows in found.items() if rows}
