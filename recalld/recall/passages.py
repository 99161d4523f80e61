"""The passage of one document that best answers a query: for documents that come in by another way than retrieval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from recalld.model import QueryVectors
from recalld.recall.ports import Index
from recalld.recall.rerank import Reranker

SHORTLIST = 8
"""Passages of one document that are reranked: the nearest by cosine."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk and what the stages thought of it; ``score`` is that of the last one."""

    chunk: int
    score: float = 0.0
    scores: Mapping[str, float] = field(default_factory=dict)


async def best_passage(
    index: Index, reranker: Reranker, query: str, vectors: QueryVectors | None, chunks: Sequence[int]
) -> Passage:
    """Return the best of a document's ``chunks`` (at least one), by the same stages that rank any others."""
    cosines = await index.vectors.cosines(vectors.pooled, chunks) if vectors is not None else {}
    near = sorted(cosines, key=lambda chunk: -cosines[chunk])[:SHORTLIST]
    if vectors is None or not near:
        return Passage(chunks[0])
    reranked = await reranker.rerank(query, vectors, near)
    best, score = reranked[0] if reranked else (near[0], cosines[near[0]])
    scores = {"dense": cosines[best]} | ({reranker.name: score} if reranked else {})
    return Passage(best, score, scores)
