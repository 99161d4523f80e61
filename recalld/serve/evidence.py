"""The verb ``evidence``: passages for an answer of one's own, under an exact budget."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from recalld.bus import wire
from recalld.episodes.evidence import Count, Evidence, Order, Passage, assemble, sources_of
from recalld.errors import RecalldError, WarmingError
from recalld.model import Generation, Mode
from recalld.recall.answer import Answering
from recalld.recall.receipts import Receipts
from recalld.serve.circumstances import Circumstances, circumstances_of
from recalld.serve.search import stage_view, why_not
from recalld.store import Store
from recalld.trust import wording
from recalld.trust.receipts import Citation

_TOKENS_A_HIT = 60
"""A short passage: so many hits are looked at that even those fill a budget."""
_LEAST, _MOST = 24, 150


@dataclass(frozen=True, slots=True)
class EvidenceVerb:
    """Assembles evidence; ``counting`` gives what counts tokens, and whose tokens those are."""

    store: Store
    answering: Callable[[Generation], Awaitable[Answering]]
    counting: Callable[[], Awaitable[tuple[Count, str]]]
    freshness: Callable[[], Awaitable[wire.Freshness]]
    indexed_past: Callable[[int], Awaitable[bool]]
    mode: Callable[[], Mode]
    budget: Callable[[], int]
    receipts: Receipts
    clock: Callable[[], datetime]

    async def __call__(self, agent: str, request: wire.EvidenceRequest) -> wire.EvidenceReply:
        """Assemble evidence. Raises WarmingError before anything is indexed, NotFoundError."""
        begun = time.perf_counter()
        under = await circumstances_of(self.store, agent, request, self.mode(), self.indexed_past)
        generation = await self.store.generations.serving()
        if generation is None:
            raise WarmingError("the index is not ready yet", suggestion="ask again in a moment")
        budget = request.budget or self.budget()
        count, counted_by = await self.counting()
        answering = await self.answering(generation)
        answer = await answering.answer(
            under.question(request.query, depth_for(budget), generation, self.clock(), request.trace)
        )
        evidence = assemble(answer.hits, budget, count, Order(request.order), request.query)
        receipt, notes = await self._receipt(agent, request, evidence, under)
        reason = "" if evidence.passages else why_not(answer)
        return wire.EvidenceReply(
            query=request.query,
            stance=evidence.stance.value,
            abstained=not evidence.passages,
            reason=reason,
            gap_warning=reason in (wording.GAP, wording.NOTHING_FOUND),
            calibrated=answer.calibrated,
            text=evidence.text,
            tokens=evidence.tokens,
            budget=budget,
            counted_by=counted_by,
            passages=tuple(_passage(one) for one in evidence.passages),
            dropped=_dropped(evidence),
            state=answer.retrieval.state,
            notes=(*answer.retrieval.notes, *notes),
            receipt=receipt,
            freshness=await self.freshness(),
            took_ms=(time.perf_counter() - begun) * 1e3,
            trace=tuple(map(stage_view, answer.retrieval.trace)) if request.trace else None,
        )

    async def _receipt(
        self, agent: str, request: wire.EvidenceRequest, evidence: Evidence, under: Circumstances
    ) -> tuple[str, tuple[str, ...]]:
        if not request.receipt:
            return "", ()
        sources = sources_of([one.judged for one in evidence.passages])
        return await given(self.receipts, agent, request.query, sources, under)


def depth_for(budget: int) -> int:
    """Return how many hits may be needed to fill a budget of tokens."""
    return max(_LEAST, min(_MOST, budget // _TOKENS_A_HIT))


async def given(
    receipts: Receipts,
    agent: str,
    query: str,
    sources: Sequence[Citation],
    under: Circumstances,
) -> tuple[str, tuple[str, ...]]:
    """Return the id of a receipt; where none could be kept, nothing and a note: the answer itself is good."""
    try:
        return await receipts.keep(agent, query, sources, under.as_of, under.known_as_of), ()
    except RecalldError as error:
        return "", (f"no receipt was kept: {error.message}",)


def citation_view(number: int, passage: Passage) -> wire.Citation:
    """Return a passage as a reply cites it."""
    return wire.Citation.model_validate(_facts(number, passage))


def _facts(number: int, passage: Passage) -> dict[str, object]:
    chunk, judged = passage.judged.hit.chunk, passage.judged
    return {
        "number": number,
        "id": str(chunk.id),
        "repo": chunk.repo,
        "path": chunk.path,
        "title": chunk.title,
        "heading": chunk.heading,
        "lines": chunk.lines,
        "text": passage.text,
        "verdict": judged.judgement.verdict,
        "confidence": judged.confidence,
        "content_hash": chunk.content_hash,
    }


def _passage(passage: Passage) -> wire.PassageView:
    return wire.PassageView.model_validate(_facts(passage.number, passage) | {"cut": passage.cut})


def _dropped(evidence: Evidence) -> tuple[wire.DroppedView, ...]:
    return tuple(
        wire.DroppedView(
            id=str(one.judged.hit.chunk.id),
            repo=one.judged.hit.chunk.repo,
            path=one.judged.hit.chunk.path,
            lines=one.judged.hit.chunk.lines,
            why=one.why,
            reason=one.reason,
        )
        for one in evidence.dropped
    )
