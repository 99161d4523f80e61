"""The verb ``search``: retrieval's candidates as an honest reply."""

from __future__ import annotations

import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio

from recalld.bus import wire
from recalld.model import Filters, Generation, Mode, RankedChunk, Retrieval, StageTrace, State
from recalld.recall.retrieve import Retriever
from recalld.store import Store
from recalld.trust.declared import declared
from recalld.trust.verdict import Verdict

NOT_CALIBRATED = "nothing is calibrated yet: hits are ranked, not vouched for"


@dataclass(slots=True)
class SearchVerb:
    """Answers searches from the serving generation.

    ``retriever`` gives the retriever of a generation; ``freshness`` how far the index is behind;
    ``indexed_past`` tells whether every ingest message up to a sequence is settled.
    """

    store: Store
    retriever: Callable[[Generation], Retriever]
    freshness: Callable[[], Awaitable[wire.Freshness]]
    indexed_past: Callable[[int], Awaitable[bool]]
    mode: Callable[[], Mode]
    poll_s: float = 0.02

    async def __call__(self, agent: str, request: wire.SearchRequest) -> wire.SearchReply:
        """Search; the reply names every state that could be mistaken for "nothing found"."""
        begun = time.perf_counter()
        if request.min_seq is not None:
            await self._wait_for(request.min_seq)
        generation = await self.store.generations.serving()
        if generation is None:
            return await self._reply(request, begun, Retrieval((), (), State.WARMING), "the index is not ready yet")
        retrieval = await self.retriever(generation).retrieve(
            request.query,
            k=request.k,
            mode=request.mode or self.mode(),
            filters=_filters(agent, request),
            generation_id=generation.id,
            trace=request.trace,
        )
        return await self._reply(request, begun, retrieval, "" if retrieval.chunks else "no memory was retrieved")

    async def _wait_for(self, seq: int) -> None:
        while not await self.indexed_past(seq):  # noqa: ASYNC110 - what is waited for happens on other nodes
            await anyio.sleep(self.poll_s)

    async def _reply(
        self, request: wire.SearchRequest, begun: float, retrieval: Retrieval, abstention: str
    ) -> wire.SearchReply:
        freshness = await self.freshness()
        return wire.SearchReply(
            query=request.query,
            abstained=bool(abstention),
            reason=abstention or NOT_CALIBRATED,
            gap_warning=bool(abstention),
            calibrated=False,
            state=retrieval.state,
            notes=(*retrieval.notes, *_not_judged(request)),
            receipt=uuid.uuid4().hex,
            freshness=freshness,
            took_ms=(time.perf_counter() - begun) * 1e3,
            trace=tuple(_stage(stage) for stage in retrieval.trace) if request.trace else None,
            hits=tuple(_hit(ranked) for ranked in retrieval.chunks),
        )


def _not_judged(request: wire.SearchRequest) -> tuple[str, ...]:
    times = [name for name in ("as_of", "known_as_of") if getattr(request, name) is not None]
    return (f"{' and '.join(times)} had no effect: validity is not judged yet",) if times else ()


def _filters(agent: str, request: wire.SearchRequest) -> Filters:
    return Filters(
        repos=request.repo,
        kinds=request.kind,
        tags=request.tag,
        path=request.path,
        since=request.since,
        until=request.until,
        agent=agent,
    )


def _hit(ranked: RankedChunk) -> wire.Hit:
    chunk = ranked.chunk
    return wire.Hit(
        id=str(chunk.id),
        repo=chunk.repo,
        path=chunk.path,
        title=chunk.title,
        kind=chunk.kind,
        lines=chunk.lines,
        heading=chunk.heading,
        text=chunk.text,
        score=ranked.score,
        scores=dict(ranked.scores),
        confidence=None,
        verdict=Verdict.UNVERIFIED,
        validity=wire.Validity.model_validate(declared(chunk.metadata)),
        provenance=wire.Provenance.model_validate(chunk),
    )


def _stage(stage: StageTrace) -> wire.TraceStage:
    return wire.TraceStage(
        stage=stage.stage,
        took_ms=stage.took_ms,
        entered=stage.entered,
        left=stage.left,
        ranking=tuple((str(chunk), score) for chunk, score in stage.ranking),
        dropped=tuple((str(chunk), reason) for chunk, reason in stage.dropped),
    )
