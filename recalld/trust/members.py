"""Documents as the supersession graph sees them, made from what the parser read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from recalld.model import Edge
from recalld.trust.graph import CLAIMS, Claim, Member
from recalld.trust.names import ids_of
from recalld.trust.standing import standing_of


def member(
    id_: int,
    repo: str,
    path: str,
    title: str,
    aliases: Iterable[str],
    metadata: Mapping[str, Any],
    edges: Iterable[tuple[Edge, datetime | None]],
    known_since: datetime | None = None,
) -> Member:
    """Return a document as a member of the graph; each edge comes with the time when it was first seen."""
    claims = tuple(
        Claim(edge.kind, edge.target, edge.source, edge.key, edge.line, edge.subject, asserted_at)
        for edge, asserted_at in edges
        if edge.kind in CLAIMS
    )
    return Member(id_, repo, path, title, ids_of(metadata, aliases), standing_of(metadata), claims, known_since)
