"""A question's way to its answer: memory, where that still holds; else retrieval, evidence, an answer that is checked
against what it cites, and memory again.

Whatever is remembered was retrieved: an episode is no document, is never searched, and so never its own source.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from recalld.episodes.answerer import Say
from recalld.episodes.citing import check
from recalld.episodes.evidence import Evidence, Passage, Stance, sources_of, stance_of
from recalld.episodes.gate import Asked
from recalld.episodes.gathering import Gathering
from recalld.episodes.junk import junk
from recalld.episodes.lookup import Found, Lookup
from recalld.episodes.once import Once
from recalld.episodes.reconcile import Derived, Reconciled, reconcile, same, unmarked
from recalld.episodes.steps import Steps
from recalld.episodes.writing import Writer, Written
from recalld.errors import RecalldError
from recalld.model import State, Vector
from recalld.recall.answer import Answer, Question
from recalld.store import Store
from recalld.store.episodes import Episode
from recalld.trust.wording import abstention

DEPTH = 24
"""Hits that evidence is assembled from."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A question with its circumstances. ``key`` is of :func:`recalld.episodes.keys.key_of`; ``fresh`` leaves memory
    aside; ``text`` is what was said where ``question`` has been made to stand alone."""

    question: Question
    key: str
    agent: str
    as_of: datetime | None
    known_as_of: datetime | None
    budget: int
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Cited:
    """A passage that an answer cites, as it was then."""

    number: int
    passage: Passage


@dataclass(frozen=True, slots=True)
class Told:
    """What is answered. ``source`` is memory, retrieval, reconciled or abstained; ``found`` what memory had.

    ``answer`` is of retrieval (None where memory answered), ``episode`` what is in memory now (None: nothing was kept).
    """

    source: Literal["memory", "retrieval", "reconciled", "abstained"]
    text: str
    found: Found
    stance: Stance
    reason: str = ""
    episode: Episode | None = None
    answer: Answer | None = None
    cited: Sequence[Cited] = ()
    evidence: Evidence | None = None
    writer: str = ""
    confidence: float | None = None
    state: State = State.READY
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Asking:
    """Answers questions over one generation."""

    store: Store
    lookup: Lookup
    gathering: Gathering
    embed: Callable[[str], Awaitable[Vector | None]]
    writer: Writer
    clock: Callable[[], datetime]

    async def ask(self, ask: Ask, steps: Steps, say: Say | None = None) -> Told:
        """Answer; ``say`` takes the words as they are written. Raises as retrieval does."""
        asked = Asked(ask.question.text)
        vector = Once(lambda: self.embed(ask.question.text))
        found = Found(why="left aside, as asked") if ask.fresh else await self._looked_up(ask, asked, vector, steps)
        if found.serves and found.episode is not None:
            async with steps.step("serve"):
                await self.store.episodes.served(found.episode.id, self.clock())
            return await _said(_from_memory(found), say)
        if found.standing.behind:
            await self.gathering.catch_up(found.standing, steps)
        return await self._derived(ask, asked, vector, found, steps, say)

    async def _looked_up(self, ask: Ask, asked: Asked, vector: Once[Vector | None], steps: Steps) -> Found:
        async with steps.step("lookup") as step:
            found = await self.lookup.find(ask.key, asked, ask.question.filters, vector)
            step.note = found.why
        return found

    async def _derived(
        self, ask: Ask, asked: Asked, vector: Once[Vector | None], found: Found, steps: Steps, say: Say | None
    ) -> Told:
        since = await self.store.episodes.newest_indexed()
        gathered = await self.gathering.gather(ask.question, ask.budget, steps)
        answer, evidence, notes = gathered.answer, gathered.evidence, gathered.notes
        if not evidence.passages:
            return _abstained(found, answer, notes)
        async with steps.step("answer") as step:
            written = await self.writer.write(ask.question.text, asked.form, evidence, vector, say)
            step.note = written.by
        async with steps.step("check") as step:
            written = await self._checked(ask, asked, evidence, vector, written)
            step.note = "; ".join(written.notes)
        if not _cited(written.text, evidence):
            return replace(_abstained(found, answer, (*notes, *written.notes)), evidence=evidence)
        written, reconciled = await self._reconciled(ask, found, evidence, written, steps)
        if reconciled is not None and reconciled.earlier and found.episode is not None:
            await self.store.episodes.served(found.episode.id, self.clock())
            told = replace(_from_memory(found), source="reconciled", answer=answer, reason=reconciled.why)
            return replace(told, notes=(*told.notes, *written.notes))
        cited = _cited(written.text, evidence)
        told = _told(ask.question.text, found, answer, evidence, written, cited, notes, reconciled)
        own = await vector()
        if answer.retrieval.state is State.READY and written.keep and own is not None:
            async with steps.step("remember"):
                try:
                    told = replace(told, episode=await self._remembered(ask, asked, told, own, since, reconciled))
                except RecalldError as error:
                    told = replace(told, notes=(*told.notes, f"the answer is not remembered: {error.message}"))
        return told

    async def _checked(
        self, ask: Ask, asked: Asked, evidence: Evidence, vector: Once[Vector | None], written: Written
    ) -> Written:
        """Return an answer that stands on what it cites; where a model's does not, the passages are quoted instead."""
        if written.quoted or written.missing:
            return written
        fault = _fault(written, evidence)
        if not fault:
            return written
        quoted = await self.writer.quote(ask.question.text, asked.form, evidence, vector)
        note = f"what {written.by} wrote does not stand ({fault}): quoted instead"
        return replace(quoted, notes=(*written.notes, note), keep=False)

    async def _reconciled(
        self, ask: Ask, found: Found, evidence: Evidence, written: Written, steps: Steps
    ) -> tuple[Written, Reconciled | None]:
        """Weigh memory's answer against the one that was written; return what is to be said, and which counts."""
        reconciled = reconcile(found, Derived(written.text, _sure(_cited(written.text, evidence))))
        if reconciled is None or found.episode is None:
            return written, None
        async with steps.step("reconcile") as step:
            if reconciled.differs and not found.standing.stale and written.keep and not written.quoted:
                written, reconciled = await self._weighed(ask, found.episode, evidence, written, reconciled)
            step.note = reconciled.why
        return written, reconciled

    async def _weighed(
        self, ask: Ask, episode: Episode, evidence: Evidence, written: Written, by_rules: Reconciled
    ) -> tuple[Written, Reconciled]:
        """Have one answer made of two that differ while both stand; where none comes of it, the rules have decided."""
        made = await self.writer.reconciled(ask.question.text, unmarked(episode.answer), written.text, evidence)
        if made is None:
            return written, by_rules
        fault = "; ".join(made.notes) or _fault(made, evidence)
        if fault:
            note = f"{made.by} made no one answer of two ({fault}): rules decided"
            return replace(written, notes=(*written.notes, note)), by_rules
        why = f"{made.by} weighed it against the earlier answer"
        return replace(made, notes=written.notes), Reconciled(False, not same(made.text, episode.answer), why)

    async def _remembered(
        self,
        ask: Ask,
        asked: Asked,
        told: Told,
        vector: Vector,
        since: datetime | None,
        reconciled: Reconciled | None,
    ) -> Episode:
        earlier = told.found.episode
        replaced = earlier is not None and earlier.normal == asked.normal
        before = earlier.corrected if earlier is not None and replaced else 0
        corrects = replaced and reconciled is not None and reconciled.differs and not told.found.standing.stale
        episode = Episode(
            key=ask.key,
            generation_id=ask.question.generation_id,
            question=ask.question.text,
            normal=asked.normal,
            gist=asked.gist,
            asks=asked.form.asks,
            scope=asked.form.scope,
            answer=told.text,
            answerer=told.writer,
            confidence=told.confidence,
            negative=told.stance is Stance.NEGATIVE,
            citations=[_kept(one) for one in told.cited],
            sources=sources_of([one.passage.judged for one in told.cited]),
            floor=_floor(told.cited),
            as_of=ask.as_of,
            known_as_of=ask.known_as_of,
            agent=ask.agent,
            at=self.clock(),
            indexed_at=since,
            vector=vector,
            corrected=before + corrects,
        )
        return replace(episode, id=await self.store.episodes.remember(episode))


def _from_memory(found: Found) -> Told:
    episode = found.episode
    assert episode is not None
    stance = Stance.NEGATIVE if episode.negative else Stance.SUPPORTS
    return Told(
        "memory",
        episode.answer,
        found,
        stance,
        episode=episode,
        writer=episode.answerer,
        confidence=episode.confidence,
        notes=found.standing.notes,
    )


async def _said(told: Told, say: Say | None) -> Told:
    if say is not None:
        await say(told.text)
    return told


def _abstained(found: Found, answer: Answer, notes: Sequence[str]) -> Told:
    why = abstention((one.hit.chunk.path, one.judgement, one.confidence) for one in answer.withheld)
    if answer.hits:
        why = "what was found does not say it"
    retrieval = answer.retrieval
    return Told(
        "abstained", "", found, Stance.NONE, why, answer=answer, state=retrieval.state, notes=(*retrieval.notes, *notes)
    )


def _told(
    question: str,
    found: Found,
    answer: Answer,
    evidence: Evidence,
    written: Written,
    cited: Sequence[Cited],
    notes: Sequence[str],
    reconciled: Reconciled | None,
) -> Told:
    standing = reconciled is not None and not found.standing.stale
    return Told(
        "reconciled" if standing else "retrieval",
        written.text,
        found,
        stance_of([one.passage.judged for one in cited], question),
        reconciled.why if reconciled is not None else "",
        answer=answer,
        cited=cited,
        evidence=evidence,
        writer=written.by,
        confidence=_sure(cited),
        state=answer.retrieval.state,
        notes=(*answer.retrieval.notes, *notes, *written.notes),
    )


def _cited(text: str, evidence: Evidence) -> list[Cited]:
    passages = {one.number: one for one in evidence.passages}
    return [Cited(number, passages[number]) for number in check(text, _shown(evidence)).cited]


def _fault(written: Written, evidence: Evidence) -> str:
    """Return why an answer does not stand on what it cites; empty where it does."""
    rubbish = junk(written.text, finished=written.finished)
    return rubbish or next(iter(check(written.text, _shown(evidence)).faults), "")


def _shown(evidence: Evidence) -> dict[int, str]:
    return {one.number: f"{one.label}\n{one.text}" for one in evidence.passages}


def _sure(cited: Sequence[Cited]) -> float | None:
    known = [one.passage.judged.confidence for one in cited if one.passage.judged.confidence is not None]
    return max(known, default=None)


def _floor(cited: Sequence[Cited]) -> float | None:
    cosines = [one.passage.judged.hit.scores.get("dense") for one in cited]
    known = [cosine for cosine in cosines if cosine is not None]
    return min(known) if len(known) == len(cosines) else None


def _kept(one: Cited) -> dict[str, object]:
    chunk, judged = one.passage.judged.hit.chunk, one.passage.judged
    return {
        "number": one.number,
        "id": str(chunk.id),
        "repo": chunk.repo,
        "path": chunk.path,
        "title": chunk.title,
        "heading": list(chunk.heading),
        "lines": list(chunk.lines),
        "text": one.passage.text,
        "verdict": str(judged.judgement.verdict),
        "confidence": judged.confidence,
        "content_hash": chunk.content_hash,
    }
