"""Whether an old answer still stands: what it cited, against what has become of that.

Pure. A citation breaks when its document is deleted, when its standing at the question's own clocks changed, or when
its content is another; in this order, so that a superseded document is not merely called changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from recalld.trust.graph import Graph
from recalld.trust.verdict import Moment, judge_standing

DELETED, CHANGED = "deleted", "changed"


@dataclass(frozen=True, slots=True)
class Citation:
    """A document as an answer relied on it. ``valid_until`` is when it ends by its own word."""

    document_id: int
    repo: str
    path: str
    content_hash: str
    valid_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Break:
    """Why a citation no longer stands: ``happened`` is deleted, changed or a verdict, ``successor`` a path."""

    happened: str
    reason: str = ""
    successor: str | None = None


def examine(citation: Citation, graph: Graph, hashes: Mapping[int, str], moment: Moment) -> Break | None:
    """Return what broke a citation, None while it stands. ``hashes`` are the contents that are held, by document."""
    held = hashes.get(citation.document_id)
    if held is None or citation.document_id not in graph.members:
        return Break(DELETED, "it is no longer in the memory")
    judgement = judge_standing(graph.members[citation.document_id], graph, moment)
    if judgement is not None:
        successor = graph.members[judgement.successor].path if judgement.successor is not None else None
        return Break(judgement.verdict, judgement.reason, successor)
    if held != citation.content_hash:
        return Break(CHANGED, "its content is another now")
    return None
