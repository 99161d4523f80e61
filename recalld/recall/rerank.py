"""The second look at the fused candidates. Late interaction is built in; a cross-encoder would plug in here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from anyio import to_thread

from recalld.embed.maxsim import maxsim
from recalld.model import QueryVectors
from recalld.recall.ports import Ranking, VectorLeg

Texts = Callable[[Sequence[int]], Awaitable[Mapping[int, str]]]
"""Reads the texts of chunks, title and headings before each; one that has gone is left out."""


class Reranker(Protocol):
    """Scores a short list of candidates against the query, better than the legs could score everything."""

    @property
    def name(self) -> str:
        """What the stage is called in traces and in a hit's scores."""
        ...

    async def rerank(self, query: str, vectors: QueryVectors, candidates: Sequence[int]) -> Ranking | None:
        """Return the candidates best first, each with a score; None when this index or query has nothing to go by."""
        ...


class LateInteraction:
    """MaxSim of the query's token vectors over the chunks' stored token signs: no second model, no texts."""

    name = "maxsim"

    def __init__(self, vectors: VectorLeg) -> None:
        self._vectors = vectors

    async def rerank(self, query: str, vectors: QueryVectors, candidates: Sequence[int]) -> Ranking | None:
        """Return the candidates that have token signs, by the mean of each query token's best match in the chunk."""
        if vectors.tokens is None:
            return None
        bits = await self._vectors.bits(candidates)
        found = [chunk for chunk in candidates if chunk in bits]
        if not found:
            return None
        scores = await to_thread.run_sync(maxsim, vectors.tokens, [bits[chunk] for chunk in found])
        return sorted(zip(found, scores.tolist(), strict=True), key=lambda entry: -entry[1])
