"""The verb ``search``: an honest reply out of candidates, verdicts and the state of the index."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import anyio

from recalld.bus import wire
from recalld.concurrent import both
from recalld.errors import NotFoundError, RecalldError
from recalld.ingest.kinds import GUIDING
from recalld.model import Filters, Generation, Mode, Retrieval, StageTrace, State
from recalld.recall.answer import Answer, Answering, Judged, Question
from recalld.recall.receipts import Receipts
from recalld.store import Store
from recalld.trust import wording
from recalld.trust.declared import declared
from recalld.trust.verdict import Moment

Note = Callable[[str, str, Sequence[str]], None]
"""Counts a kind of use for guardrails of a repo, without waiting."""
NOT_READY = Answer((), (), False, Retrieval((), (), State.WARMING))


@dataclass(slots=True)
class SearchVerb:
    """Answers searches from the serving generation.

    ``answering`` gives what answers from a generation; ``freshness`` how far the index is behind;
    ``indexed_past`` tells whether every ingest message up to a sequence is settled.
    """

    store: Store
    answering: Callable[[Generation], Awaitable[Answering]]
    freshness: Callable[[], Awaitable[wire.Freshness]]
    indexed_past: Callable[[int], Awaitable[bool]]
    mode: Callable[[], Mode]
    receipts: Receipts
    clock: Callable[[], datetime]
    note: Note | None = None
    poll_s: float = 0.02

    async def __call__(self, agent: str, request: wire.SearchRequest) -> wire.SearchReply:
        """Search; the reply names every state that could be mistaken for "nothing found"."""
        begun = time.perf_counter()
        if request.min_seq is not None:
            await self._wait_for(request.min_seq)
        await named_repos(self.store, request.repo)
        generation = await self.store.generations.serving()
        if generation is None:
            return await self._reply(agent, request, begun, NOT_READY, "the index is not ready yet")
        answering = await self.answering(generation)
        answer = await answering.answer(self._question(agent, request, generation))
        reply = await self._reply(agent, request, begun, answer, "" if answer.hits else why_not(answer))
        self._count(reply)
        return reply

    def _count(self, reply: wire.SearchReply) -> None:
        """Note which guardrails were found, each once."""
        if self.note is not None:
            for repo, path in dict.fromkeys((hit.repo, hit.path) for hit in reply.hits if hit.kind in GUIDING):
                self.note("retrieved", repo, [path])

    def _question(self, agent: str, request: wire.SearchRequest, generation: Generation) -> Question:
        moment = Moment(_zoned(request.as_of) or self.clock(), _zoned(request.known_as_of))
        mode = request.mode or self.mode()
        return Question(request.query, request.k, mode, _filters(agent, request), generation.id, moment, request.trace)

    async def _wait_for(self, seq: int) -> None:
        while not await self.indexed_past(seq):  # noqa: ASYNC110 - what is waited for happens on other nodes
            await anyio.sleep(self.poll_s)

    async def _reply(
        self, agent: str, request: wire.SearchRequest, begun: float, answer: Answer, abstention: str
    ) -> wire.SearchReply:
        freshness, (receipt, notes) = await both(self.freshness, lambda: self._receipt(agent, request, answer))
        hits, withheld = map(_hit, answer.hits), map(_hit, answer.withheld)
        return wire.SearchReply(
            query=request.query,
            abstained=bool(abstention),
            reason=abstention or _remark(answer),
            gap_warning=bool(abstention) and abstention in (wording.GAP, wording.NOTHING_FOUND),
            calibrated=answer.calibrated,
            state=answer.retrieval.state,
            notes=(*answer.retrieval.notes, *notes),
            receipt=receipt,
            freshness=freshness,
            took_ms=(time.perf_counter() - begun) * 1e3,
            trace=tuple(stage_view(stage) for stage in answer.retrieval.trace) if request.trace else None,
            hits=(*hits, *withheld) if request.all else tuple(hits),
            withheld=() if request.all else tuple(withheld),
        )

    async def _receipt(self, agent: str, request: wire.SearchRequest, answer: Answer) -> tuple[str, tuple[str, ...]]:
        """Return the id of the receipt; where none could be kept, nothing and a note: the answer itself is good."""
        if not request.receipt:
            return "", ()
        as_of, known_as_of = _zoned(request.as_of), _zoned(request.known_as_of)
        try:
            return await self.receipts.give(agent, request.query, answer, as_of, known_as_of), ()
        except RecalldError as error:
            return "", (f"no receipt was kept: {error.message}",)


async def named_repos(store: Store, names: Sequence[str]) -> None:
    """Raise NotFoundError where a repo named is not watched: that is not the same as finding nothing in it."""
    for name in names:
        if await store.repos.get(name) is None:
            raise NotFoundError(f"no repo {name}", suggestion="`recall repo list` names them")


def why_not(answer: Answer) -> str:
    """Return why nothing of an answer may be believed, in words."""
    return wording.abstention(
        (judged.hit.chunk.path, judged.judgement, judged.confidence) for judged in answer.withheld
    )


def _remark(answer: Answer) -> str:
    """Return what to know beside an answer: that nothing is calibrated, and what was withheld."""
    parts = ("" if answer.calibrated else wording.NOT_CALIBRATED, wording.summary(j.judgement for j in answer.withheld))
    return "; ".join(filter(None, parts))


def _zoned(moment: datetime | None) -> datetime | None:
    """Return a moment with its zone, UTC where none is given."""
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


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


def _hit(judged: Judged) -> wire.Hit:
    chunk = judged.hit.chunk
    validity = wire.Validity.model_validate(declared(chunk.metadata))
    if judged.successor is not None:
        validity = validity.model_copy(update={"superseded_by": judged.successor})
    return wire.Hit(
        id=str(chunk.id),
        repo=chunk.repo,
        path=chunk.path,
        title=chunk.title,
        kind=chunk.kind,
        lines=chunk.lines,
        heading=chunk.heading,
        text=chunk.text,
        score=judged.hit.score,
        scores=dict(judged.hit.scores),
        confidence=judged.confidence,
        verdict=judged.judgement.verdict,
        reason=judged.judgement.reason,
        stands_for=judged.stands_for,
        validity=validity,
        provenance=wire.Provenance.model_validate(chunk),
    )


def stage_view(stage: StageTrace) -> wire.TraceStage:
    """Return a stage as a reply shows it."""
    return wire.TraceStage(
        stage=stage.stage,
        took_ms=stage.took_ms,
        entered=stage.entered,
        left=stage.left,
        ranking=tuple((str(chunk), score) for chunk, score in stage.ranking),
        dropped=tuple((str(chunk), reason) for chunk, reason in stage.dropped),
    )
