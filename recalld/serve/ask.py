"""The verb ``ask``: an answer, with all that it relies on."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import anyio

from recalld.bus import wire
from recalld.bus.service import Tell
from recalld.concurrent import beside
from recalld.episodes.answerer import Say
from recalld.episodes.ask import DEPTH, Ask, Asking, Told
from recalld.episodes.evidence import Stance, sources_of
from recalld.episodes.extract import NAME
from recalld.episodes.form import form_of
from recalld.episodes.keys import key_of
from recalld.episodes.steps import Begun, Steps
from recalld.errors import WarmingError
from recalld.model import Generation, Mode
from recalld.recall.receipts import Receipts
from recalld.serve.circumstances import Circumstances, circumstances_of
from recalld.serve.conversation import Conversation
from recalld.serve.evidence import citation_view, given
from recalld.serve.search import stage_view
from recalld.store import Store
from recalld.trust.receipts import Citation

BEAT_S = 1.0
"""How soon it is noticed that whoever asked for a stream has gone (seconds)."""


@dataclass(frozen=True, slots=True)
class AskVerb:
    """Answers questions. ``asking`` gives what answers over a generation, ``writer`` who writes the answers."""

    store: Store
    asking: Callable[[Generation], Awaitable[Asking]]
    conversation: Conversation
    freshness: Callable[[], Awaitable[wire.Freshness]]
    indexed_past: Callable[[int], Awaitable[bool]]
    mode: Callable[[], Mode]
    budget: Callable[[], int]
    receipts: Receipts
    clock: Callable[[], datetime]

    async def __call__(self, agent: str, request: wire.AskRequest, tell: Tell) -> wire.AskReply:
        """Answer a question. Raises WarmingError before anything is indexed, NotFoundError."""
        if not request.stream:
            return await self._answered(agent, request, tell)
        return await beside(lambda: _beat(tell), lambda: self._answered(agent, request, tell))

    async def _answered(self, agent: str, request: wire.AskRequest, tell: Tell) -> wire.AskReply:
        begun = time.perf_counter()
        steps = Steps(told=_telling(tell) if request.stream else None)
        under = await circumstances_of(self.store, agent, request, self.mode(), self.indexed_past)
        generation = await self.store.generations.serving()
        if generation is None:
            raise WarmingError("the index is not ready yet", suggestion="ask again in a moment")
        async with steps.step("session"):
            standalone = await self.conversation.standalone(agent, request.session, request.query)
        asking = await self.asking(generation)
        told = await asking.ask(
            self._question(agent, request, standalone, under, generation, asking.writer.name),
            steps,
            _saying(tell) if request.stream else None,
        )
        reply = await self._reply(agent, request, standalone, under, told, steps, begun)
        await self.conversation.say(agent, request.session, request.query, standalone, reply)
        return reply

    def _question(
        self,
        agent: str,
        request: wire.AskRequest,
        standalone: str,
        under: Circumstances,
        generation: Generation,
        writer: str,
    ) -> Ask:
        budget = request.budget or self.budget()
        key = key_of(
            generation.id, under.repo_ids, under.filters, under.mode, under.as_of, under.known_as_of, writer, budget
        )
        question = under.question(standalone, DEPTH, generation, self.clock(), request.trace)
        return Ask(question, key, agent, under.as_of, under.known_as_of, budget, request.fresh)

    async def _reply(
        self,
        agent: str,
        request: wire.AskRequest,
        standalone: str,
        under: Circumstances,
        told: Told,
        steps: Steps,
        begun: float,
    ) -> wire.AskReply:
        found, abstained = told.found, told.source == "abstained"
        async with steps.step("receipt"):
            receipt, notes = await self._receipt(agent, request, standalone, under, told)
        freshness = await self.freshness()
        return wire.AskReply(
            query=request.query,
            standalone=standalone,
            answer=told.text,
            source=told.source,
            abstained=abstained,
            reason=told.reason,
            negative=told.stance is Stance.NEGATIVE,
            citations=() if abstained else _citations(told),
            answerer=told.writer,
            quoted=told.writer == NAME,
            confidence=told.confidence,
            calibrated=told.answer.calibrated if told.answer is not None else None,
            memory_similarity=found.similarity if found.episode is not None else None,
            memory_confidence=found.confidence if found.episode is not None else None,
            stale=found.standing.stale,
            scope=form_of(standalone).scope.value,
            path=tuple(wire.PathStep(step=one.name, took_ms=one.took_ms, note=one.note) for one in steps.taken),
            state=told.state,
            notes=(*told.notes, *notes),
            session=request.session,
            receipt=receipt,
            episode=str(told.episode.id) if told.episode is not None else None,
            freshness=freshness,
            took_ms=(time.perf_counter() - begun) * 1e3,
            trace=tuple(map(stage_view, steps.stages)) if request.trace else None,
        )

    async def _receipt(
        self, agent: str, request: wire.AskRequest, standalone: str, under: Circumstances, told: Told
    ) -> tuple[str, tuple[str, ...]]:
        if not request.receipt:
            return "", ()
        sources = told.episode.sources if told.episode is not None and not told.cited else _sources(told)
        return await given(self.receipts, agent, standalone, sources, under)


async def _beat(tell: Tell) -> None:
    """Send empty parts now and then: by them it shows that nobody listens, however long a model says nothing."""
    while True:
        await anyio.sleep(BEAT_S)
        await tell(wire.AskPart())


def _sources(told: Told) -> Sequence[Citation]:
    return sources_of([one.passage.judged for one in told.cited])


def _citations(told: Told) -> tuple[wire.Citation, ...]:
    if told.episode is not None and not told.cited:
        return tuple(wire.Citation.model_validate(dict(one)) for one in told.episode.citations)
    return tuple(citation_view(one.number, one.passage) for one in told.cited)


def _telling(tell: Tell) -> Begun:
    async def begun(step: str) -> None:
        await tell(wire.AskPart(step=step))

    return begun


def _saying(tell: Tell) -> Say:
    async def say(words: str) -> None:
        await tell(wire.AskPart(text=words))

    return say
