"""From candidates to an answer: each is judged, what does not hold is withheld, and its successor takes its place.

How sure is a matter of the question: a calibration is fitted to the best hit of each, and tells whether the memory has
an answer. So one hit that is sure enough, of a document that stands, opens the answer to all that stand; each keeps its
own confidence. Where none is, all are withheld.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Protocol

from recalld.model import Filters, Mode, RankedChunk, Retrieval, StageTrace, State
from recalld.recall.attempt import Failure
from recalld.recall.entailment import Gate
from recalld.recall.retrieve import Retriever
from recalld.spans import past
from recalld.trust.graph import Graph, Member
from recalld.trust.verdict import THRESHOLD, Judgement, Moment, Verdict, judge_confidence, judge_standing

SPARE = 4
"""Candidates asked for beyond the k wanted, for those that do not hold."""
DEEPER = 4
"""How many times as many candidates are asked for when too few of the first hold."""
MOST = 200

Confidences = Callable[[Sequence[RankedChunk]], Sequence[float] | None]
"""Gives each hit a calibrated probability that it answers, 0 to 1; None where nothing is calibrated for such hits."""


class StandingReader(Protocol):
    """Documents with all that could decide on their standing."""

    async def around(self, document_ids: Sequence[int]) -> Sequence[Member]: ...


@dataclass(frozen=True, slots=True)
class Question:
    """A query with its bounds and its two clocks."""

    text: str
    k: int
    mode: Mode
    filters: Filters
    generation_id: int
    moment: Moment
    trace: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """A hit with its verdict.

    ``confidence`` is None where nothing is calibrated. ``successor`` is the path of the document that took the place of
    this one, ``stands_for`` the path of a superseded one whose place this one took.
    """

    hit: RankedChunk
    judgement: Judgement
    confidence: float | None = None
    successor: str | None = None
    stands_for: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """Hits that hold, best first; those that do not, in a list of their own; and what retrieval says of itself.

    ``standing`` counts the candidates whose documents stand, however far they are from the question.
    """

    hits: Sequence[Judged]
    withheld: Sequence[Judged]
    calibrated: bool
    retrieval: Retrieval
    standing: int = 0


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A hit on its way to a verdict. ``standing`` is None where its document stands."""

    hit: RankedChunk
    standing: Judgement | None
    successor: str | None = None
    stands_for: str | None = None
    instead_of: RankedChunk | None = None


class Answering:
    """Answers questions from one generation; nothing here knows what a confidence is made of."""

    def __init__(
        self,
        retriever: Retriever,
        standings: StandingReader,
        confidences: Confidences,
        gate: Gate | None = None,
    ) -> None:
        self._retriever = retriever
        self._standings = standings
        self._confidences = confidences
        self._gate = gate

    async def answer(self, question: Question) -> Answer:
        """Return at most ``k`` hits that hold and at most ``k`` that do not. Raises as retrieval does."""
        depth = min(MOST, question.k + SPARE)
        answer, crowded = await self._attempt(question, depth)
        if crowded:
            answer, _ = await self._attempt(question, min(MOST, depth * DEEPER))
        return await self._gated(question, answer)

    async def answer_by(self, question: Question, passage: str, before: Retrieval) -> Answer:
        """Search with a passage that was made up in the question's place, and judge what it finds by the question.

        Each document gives the passage that best answers the question, with the question's own scores; ``before`` is
        the question's own search, whose vectors and scores are used again. So a hit is as sure as if the question
        itself had found it. Raises as retrieval does.
        """
        depth = min(MOST, question.k + SPARE)
        found = await self._retriever.retrieve(
            passage, depth, question.mode, question.filters, question.generation_id, question.trace
        )
        documents = list(dict.fromkeys(hit.chunk.document_id for hit in found.chunks))
        best = await self._retriever.best_of(question.text, before.vectors, documents, question.generation_id)
        own = {_id(hit): hit.scores for hit in before.chunks}
        scored = [replace(hit, scores={**hit.scores, **own.get(_id(hit), {})}) for hit in best.values()]
        hits = sorted(scored, key=_closeness, reverse=True)
        retrieval = replace(found, chunks=hits, vectors=before.vectors)
        return await self._gated(question, await self._judged(question, retrieval))

    async def _gated(self, question: Question, answer: Answer) -> Answer:
        if self._gate is None or not answer.calibrated or not answer.hits:
            return answer
        return await _looked_at_again(self._gate, question.text, answer)

    async def _attempt(self, question: Question, depth: int) -> tuple[Answer, bool]:
        """Return the answer, and whether documents that do not hold may have crowded out others that do."""
        retrieval = await self._retriever.retrieve(
            question.text, depth, question.mode, question.filters, question.generation_id, question.trace
        )
        answer = await self._judged(question, retrieval)
        crowded = len(retrieval.chunks) >= depth and answer.standing < question.k
        return answer, crowded

    async def _judged(self, question: Question, retrieval: Retrieval) -> Answer:
        begun = perf_counter()
        documents = list(dict.fromkeys(hit.chunk.document_id for hit in retrieval.chunks))
        graph = Graph(await self._standings.around(documents)) if documents else Graph(())
        standings = {
            id_: judge_standing(graph.members[id_], graph, question.moment) for id_ in documents if id_ in graph.members
        }
        sure = self._confidences(retrieval.chunks)
        replaced = _replaced(retrieval.chunks, sure, standings)
        successors = await self._successors(question, retrieval, graph, replaced, standings)
        candidates = arrange(retrieval.chunks, standings, replaced, successors, graph)
        answer = self._conclude(question.k, retrieval, candidates)
        stage = _stage(begun, candidates, answer)
        return replace(answer, retrieval=replace(retrieval, trace=(*retrieval.trace, stage)))

    async def _successors(
        self,
        question: Question,
        retrieval: Retrieval,
        graph: Graph,
        replaced: Mapping[int, int],
        standings: Mapping[int, Judgement | None],
    ) -> Mapping[int, RankedChunk]:
        """Return the best passage of each successor that stands and that retrieval missed."""
        missed = [
            id_
            for id_ in sorted(set(replaced.values()) - standings.keys())
            if judge_standing(graph.members[id_], graph, question.moment) is None
        ]
        if not missed:
            return {}
        return await self._retriever.best_of(question.text, retrieval.vectors, missed, question.generation_id)

    def _conclude(self, k: int, retrieval: Retrieval, candidates: Sequence[_Candidate]) -> Answer:
        confidences = self._sure(candidates)
        standing = [sure for sure, candidate in zip(confidences, candidates, strict=True) if candidate.standing is None]
        gate = judge_confidence(max((sure for sure in standing if sure is not None), default=None))
        hits: list[Judged] = []
        withheld: list[Judged] = []
        for candidate, sure in zip(candidates, confidences, strict=True):
            judgement = candidate.standing or gate
            judged = Judged(candidate.hit, judgement, sure, candidate.successor, candidate.stands_for)
            (hits if judgement.verdict.answers else withheld).append(judged)
        return Answer(hits[:k], withheld[:k], None not in confidences, retrieval, len(standing))

    def _sure(self, candidates: Sequence[_Candidate]) -> list[float | None]:
        """Return the confidence in each; a successor is as sure as the hit whose place it takes."""
        own = self._confidences([candidate.hit for candidate in candidates])
        if own is None:
            return [None] * len(candidates)
        instead = [candidate.instead_of for candidate in candidates if candidate.instead_of is not None]
        inherited = dict(zip(map(_id, instead), self._confidences(instead) or (), strict=True))
        return [
            max(sure, inherited[_id(candidate.instead_of)]) if candidate.instead_of is not None else sure
            for sure, candidate in zip(own, candidates, strict=True)
        ]


async def _looked_at_again(gate: Gate, query: str, answer: Answer) -> Answer:
    """Withhold what the gate says is no answer. What it did not look at stands, and a note says so."""
    begun = perf_counter()
    chances = await gate.chances(query, [judged.hit.chunk.passage for judged in answer.hits])
    if isinstance(chances, Failure):
        note = f"whether the hits answer the question was not looked at: {chances.reason}"
        return replace(answer, retrieval=_noted(answer.retrieval, note, chances.state))
    name, looked_at, rest = gate.judge.name, answer.hits[: len(chances)], answer.hits[len(chances) :]
    scored = [_scored(judged, name, chance) for judged, chance in zip(looked_at, chances, strict=True)]
    kept = [one for one, chance in zip(scored, chances, strict=True) if chance >= gate.threshold]
    refused = Judgement(Verdict.NOT_ENTAILED, "it does not answer the question")
    out = [
        replace(one, judgement=refused) for one, chance in zip(scored, chances, strict=True) if chance < gate.threshold
    ]
    stage = StageTrace(
        name,
        (perf_counter() - begun) * 1e3,
        len(looked_at),
        len(kept),
        ranking=tuple((one.hit.chunk.id, one.hit.scores[name]) for one in kept),
        dropped=tuple((one.hit.chunk.id, str(refused.verdict)) for one in out),
    )
    retrieval = replace(answer.retrieval, trace=(*answer.retrieval.trace, stage))
    if rest:
        retrieval = _noted(retrieval, f"{name} looked at the first {len(looked_at)} of {len(answer.hits)} hits")
    return replace(answer, hits=[*kept, *rest], withheld=[*out, *answer.withheld], retrieval=retrieval)


def _scored(judged: Judged, name: str, score: float) -> Judged:
    return replace(judged, hit=replace(judged.hit, scores={**judged.hit.scores, name: score}))


def _noted(retrieval: Retrieval, note: str, state: State = State.READY) -> Retrieval:
    """Add a note; ``state`` is what it makes of a search that was ready."""
    return replace(
        retrieval,
        notes=(*retrieval.notes, note),
        state=state if retrieval.state is State.READY else retrieval.state,
    )


def arrange(
    hits: Sequence[RankedChunk],
    standings: Mapping[int, Judgement | None],
    replaced: Mapping[int, int],
    successors: Mapping[int, RankedChunk],
    graph: Graph,
) -> list[_Candidate]:
    """Put the successor of each hit that is ``replaced`` where that hit is, unless it comes earlier by itself.

    ``standings`` are by document, ``replaced`` names the successor by the hit's chunk, ``successors`` are the passages
    of those that are not among ``hits``. A hit whose document has gone meanwhile is left out.
    """
    own = {hit.chunk.document_id: hit for hit in reversed(hits) if standings.get(hit.chunk.document_id, ...) is None}
    placed: set[int] = set()
    arranged: list[_Candidate] = []
    for hit in hits:
        document, successor = hit.chunk.document_id, replaced.get(hit.chunk.id)
        if document not in standings or hit.chunk.id in placed:
            continue
        passage = (own.get(successor) or successors.get(successor)) if successor is not None else None
        if passage is not None and passage.chunk.id not in placed:
            placed.add(passage.chunk.id)
            arranged.append(_Candidate(replace(passage, score=hit.score), None, None, hit.chunk.path, hit))
        placed.add(hit.chunk.id)
        arranged.append(_Candidate(hit, standings[document], _successor_path(standings[document], graph)))
    return arranged


def _replaced(
    hits: Sequence[RankedChunk], sure: Sequence[float] | None, standings: Mapping[int, Judgement | None]
) -> dict[int, int]:
    """Return by chunk the successors of hits that were replaced and would have answered."""
    found: dict[int, int] = {}
    for number, hit in enumerate(hits):
        standing = standings.get(hit.chunk.document_id)
        answers = sure is None or sure[number] >= THRESHOLD
        if answers and standing is not None and standing.successor is not None:
            found[hit.chunk.id] = standing.successor
    return found


def _successor_path(standing: Judgement | None, graph: Graph) -> str | None:
    return graph.members[standing.successor].path if standing is not None and standing.successor is not None else None


def _id(hit: RankedChunk) -> int:
    return hit.chunk.id


def _closeness(hit: RankedChunk) -> tuple[float, float]:
    """Order passages by how near they are to the question; those that late interaction did not look at go last."""
    return hit.scores.get("maxsim", float("-inf")), hit.scores.get("dense", 0.0)


def _stage(begun: float, candidates: Sequence[_Candidate], answer: Answer) -> StageTrace:
    past("trust", begun, entered=len(candidates), left=len(answer.hits))
    return StageTrace(
        stage="trust",
        took_ms=(perf_counter() - begun) * 1e3,
        entered=len(candidates),
        left=len(answer.hits),
        ranking=tuple((judged.hit.chunk.id, judged.confidence or 0.0) for judged in answer.hits),
        dropped=tuple((judged.hit.chunk.id, str(judged.judgement.verdict)) for judged in answer.withheld),
    )
