"""The ladder: what is compared, from no memory at all to one that cannot be better. Each rung adds one thing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import perf_counter

from recalld.evaluate.catalogue import Catalogue
from recalld.evaluate.observation import Observation, Stage, rankings, same_at_all, stage_times
from recalld.evaluate.tasks import Task
from recalld.evaluate.workbench import Bench
from recalld.model import Filters, Mode, RankedChunk
from recalld.recall.answer import Answering, Question
from recalld.recall.rerank import Reranker
from recalld.recall.retrieve import Retriever
from recalld.settings import RecallSettings
from recalld.trust.verdict import Moment, Verdict

HISTORY_TOKENS = 32_768
"""How much of the memory full history reads, newest first: a common context window."""
NO_MEMORY, FULL_HISTORY, LEXICAL, DENSE, HYBRID = "no-memory", "full-history", "lexical", "dense", "hybrid"
LATE, CROSS, TRUST, ORACLE = "hybrid+late-interaction", "+cross-encoder", "+trust", "oracle"
LADDER = (NO_MEMORY, FULL_HISTORY, LEXICAL, DENSE, HYBRID, LATE, CROSS, TRUST, ORACLE)
_MODES = {LEXICAL: Mode.LEXICAL, DENSE: Mode.DENSE, HYBRID: Mode.HYBRID, LATE: Mode.RERANK}
_RAW = {LEXICAL: "lexical", DENSE: "dense", HYBRID: "dense", LATE: "maxsim", TRUST: "maxsim"}
"""Whose score tells how sure a condition is that is not calibrated: fused and blended ones only rank."""

Observe = Callable[[Task], Awaitable[Observation]]


@dataclass(frozen=True, slots=True)
class Condition:
    """One rung; ``observe`` asks it a task."""

    name: str
    observe: Observe


@dataclass(frozen=True, slots=True)
class Ladder:
    """Makes the conditions of one index. ``hits`` is how many passages an answer may have."""

    bench: Bench
    catalogue: Catalogue
    settings: RecallSettings
    hits: int
    now: datetime
    """When the tasks are asked that do not say it."""
    cross_encoder: Reranker | None = None

    def missing(self, name: str) -> str:
        """Say why a condition cannot be had here; empty where it can."""
        if name == CROSS and self.cross_encoder is None:
            return "no cross-encoder is configured: see recall.reranker and docs/judges.md"
        if name == LATE and not self.bench.has_tokens:
            return f"the embedder {self.bench.generation.embedder} has no token vectors"
        return ""

    def condition(self, name: str) -> Condition:
        """Return a condition of the ladder."""
        return Condition(name, self._observer(name))

    def _observer(self, name: str) -> Observe:
        if name == NO_MEMORY:
            return _nothing
        if name == FULL_HISTORY:
            return self._full_history()
        if name == ORACLE:
            return self._oracle
        if name == TRUST:
            return self._trusted(self.bench.answering(self.bench.retriever(self.settings, self.cross_encoder)))
        if name == CROSS:
            assert self.cross_encoder is not None
            return self._retrieved(
                self.bench.retriever(self.settings, self.cross_encoder), Mode.RERANK, self.cross_encoder.name
            )
        return self._retrieved(self.bench.retriever(self.settings), _MODES[name], _RAW[name])

    def _retrieved(self, retriever: Retriever, mode: Mode, raw: str) -> Observe:
        async def observe(task: Task) -> Observation:
            begun = perf_counter()
            found = await retriever.retrieve(
                task.query, self.hits, mode, _filters(task), self.bench.generation.id, trace=True
            )
            took = (perf_counter() - begun) * 1e3
            stages = rankings(found)
            stages[Stage.ANSWERED] = stages[Stage.ADMITTED]
            return Observation(stages, took, stage_times(found), _best(found.chunks, raw), notes=found.notes)

        return observe

    def _trusted(self, answering: Answering) -> Observe:
        async def observe(task: Task) -> Observation:
            moment = Moment(task.as_of or self.now, task.known_as_of)
            question = Question(
                task.query, self.hits, Mode.RERANK, _filters(task), self.bench.generation.id, moment, trace=True
            )
            begun = perf_counter()
            answer = await answering.answer(question)
            took = (perf_counter() - begun) * 1e3
            stages = rankings(answer.retrieval)
            stages[Stage.ANSWERED] = [judged.hit.chunk.id for judged in answer.hits]
            judged = [*answer.hits, *answer.withheld]
            sure = [one.confidence for one in judged if one.confidence is not None and _stands(one.judgement.verdict)]
            return Observation(
                stages,
                took,
                stage_times(answer.retrieval),
                _best([one.hit for one in judged], _RAW[TRUST]),
                max(sure, default=0.0) if answer.calibrated else None,
                {one.hit.chunk.id: str(one.judgement.verdict) for one in answer.withheld},
                answer.retrieval.notes,
            )

        return observe

    def _full_history(self) -> Observe:
        """Read the newest documents, as far as the window reaches, whatever is asked."""
        begun = perf_counter()
        read: list[int] = []
        left = HISTORY_TOKENS
        for path in self.catalogue.newest_first():
            chunks = [chunk.id for chunk in self.catalogue.by_path[path]]
            left -= self.catalogue.tokens(chunks)
            if left < 0:
                break
            read += chunks
        found = Observation(same_at_all(read), (perf_counter() - begun) * 1e3)

        async def observe(_: Task) -> Observation:
            return found

        return observe

    async def _oracle(self, task: Task) -> Observation:
        """Serve what the task says is right: what no memory of these passages can do better."""
        relevant = self.catalogue.relevant(task) if task.answerable else frozenset()
        order = {gold.path: place for place, gold in reversed(list(enumerate(task.gold)))}
        best = sorted(relevant, key=lambda id_: (order[self.catalogue.chunks[id_].path], id_))
        seen: dict[str, int] = {}
        first = [id_ for id_ in best if seen.setdefault(self.catalogue.chunks[id_].path, id_) == id_]
        served = list(dict.fromkeys([*first, *best]))[: self.hits]
        return Observation(same_at_all(served), score=float(task.answerable), confidence=float(task.answerable))


async def _nothing(_: Task) -> Observation:
    return Observation(same_at_all(()))


def _filters(task: Task) -> Filters:
    return Filters(path=task.scope)


def _best(hits: Sequence[RankedChunk], raw: str) -> float:
    return max((hit.scores.get(raw, 0.0) for hit in hits), default=0.0)


def _stands(verdict: Verdict) -> bool:
    """Tell whether a hit's document holds: only such a one makes an answer sure."""
    return verdict.answers or verdict is Verdict.LOW_CONFIDENCE
