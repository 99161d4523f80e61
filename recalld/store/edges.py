"""A document's edges: replaced as a whole, each keeping the time when it was first seen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from recalld.model import Edge
from recalld.store.database import Connection
from recalld.store.text import escape_all
from recalld.trust.graph import CLAIMS
from recalld.trust.names import read_target

_REPLACE = """
    WITH old AS (DELETE FROM edge WHERE document_id = $1 RETURNING kind, target, subject, asserted_at),
    first AS (SELECT kind, target, subject, min(asserted_at) AS at FROM old GROUP BY kind, target, subject)
    INSERT INTO edge (document_id, kind, target, source, key, line, subject, names, asserted_at)
    SELECT n.document_id, n.kind, n.target, n.source, n.key, n.line, n.subject, n.names,
           coalesce(first.at, n.asserted_at)
    FROM unnest($2::edge[]) n LEFT JOIN first USING (kind, target, subject)
"""


async def replace_edges(
    connection: Connection, document_id: int, edges: Sequence[Edge], at: datetime, *, exists: bool
) -> None:
    """Make a document's edges equal to ``edges``; one that stood there before keeps its first time."""
    if edges:
        await connection.execute(_REPLACE, document_id, [_row(document_id, edge, at) for edge in edges])
    elif exists:
        await connection.execute("DELETE FROM edge WHERE document_id = $1", document_id)


def edge_of(row: Any) -> Edge:
    """Return a row of edge as a value."""
    return Edge(row["kind"], row["target"], row["source"], row["key"], row["line"], row["subject"])


def _row(document_id: int, edge: Edge, at: datetime) -> tuple[Any, ...]:
    """Return an edge in the order of the table's columns."""
    names = escape_all(sorted(_names(edge)))
    return (document_id, edge.kind, edge.target, edge.source, edge.key, edge.line, edge.subject, names, at)


def _names(edge: Edge) -> frozenset[str]:
    """Return under which names the documents that a claim is about can be found."""
    if edge.kind not in CLAIMS:
        return frozenset()
    subject = read_target(edge.subject).keys if edge.subject else frozenset()
    return read_target(edge.target).keys | subject
