"""Evidence pooled by document: a document is as good as its best passage, and a little better for the next ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recalld.recall.ports import Owner, Ranking

FOLLOWING = 2
"""How many passages after the best count as further evidence."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A document, its pooled score and its candidate chunks, best first."""

    document_id: int
    score: float
    chunks: tuple[tuple[int, float], ...]


def pool(ranking: Ranking, owners: Mapping[int, Owner], share: float) -> list[Evidence]:
    """Return the documents behind ``ranking``, best first: best chunk + ``share`` x mean of its next two.

    Scores count from the least one in the ranking, so that a passage which was not retrieved is worth as much as the
    last that was: the order does not depend on where a stage's scale begins. Chunks without an owner (deleted since)
    are left out. Equal documents are ordered by their best chunk's place in the ranking.
    """
    floor = min((score for _, score in ranking), default=0.0)
    grouped: dict[int, list[tuple[int, float]]] = {}
    for chunk, score in ranking:
        if chunk in owners:
            grouped.setdefault(owners[chunk].document_id, []).append((chunk, score))
    documents = [
        Evidence(document, _pooled([score for _, score in chunks], floor, share), tuple(chunks))
        for document, chunks in grouped.items()
    ]
    documents.sort(key=lambda evidence: -evidence.score)
    return documents


def _pooled(scores: list[float], floor: float, share: float) -> float:
    """Pool one document's scores, given best first."""
    following = sum(score - floor for score in scores[1 : 1 + FOLLOWING])
    return scores[0] + share * following / FOLLOWING


def order(documents: Sequence[Evidence], crowding: float) -> list[tuple[int, float]]:
    """Return the chunks of ``documents`` in the order in which they are shown, each with the score that places it.

    That is its document's pooled score, less what it is worse than the document's best chunk, and less ``crowding``
    for each better chunk of the same document, in units of the range that all scores span. So a document shows
    more of itself where that is clearly better than what others have, and several documents come first where not.
    """
    scores = [score for evidence in documents for _, score in evidence.chunks]
    step = crowding * (max(scores) - min(scores)) if scores else 0.0
    placed = [
        (chunk, evidence.score - (evidence.chunks[0][1] - score) - step * place)
        for evidence in documents
        for place, (chunk, score) in enumerate(evidence.chunks)
    ]
    return sorted(placed, key=lambda entry: -entry[1])
