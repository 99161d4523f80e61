"""From a question to the evidence for its answer: retrieval, once more with an imagined passage where nothing is near,
and once more where a file that would be cited has changed on disk meanwhile.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from recalld.episodes.evidence import Count, Evidence, Order, assemble, sources_of
from recalld.episodes.freshness import Freshness, Standing
from recalld.episodes.once import Once
from recalld.episodes.steps import Steps
from recalld.episodes.writing import Imagined, Writer
from recalld.recall.answer import Answer, Answering, Question
from recalld.trust import wording
from recalld.trust.receipts import Citation


@dataclass(frozen=True, slots=True)
class Gathered:
    """What retrieval answers, and the passages of it that an answer may rely on."""

    answer: Answer
    evidence: Evidence
    notes: Sequence[str]


@dataclass(frozen=True, slots=True)
class Gathering:
    """Gathers evidence. ``caught_up`` waits until documents are indexed as they are on disk."""

    answering: Answering
    freshness: Freshness
    writer: Writer
    count: Count
    caught_up: Callable[[Sequence[Citation]], Awaitable[bool]]

    async def gather(self, question: Question, budget: int, steps: Steps) -> Gathered:
        """Return the evidence within a budget of tokens. Raises as retrieval does."""
        imagined = Once(lambda: self.writer.expanded(question.text))
        answer, evidence, standing = await self._attempt(question, budget, imagined, steps)
        if standing.behind:
            await self.catch_up(standing, steps)
            answer, evidence, standing = await self._attempt(question, budget, imagined, steps)
        if not standing.behind:
            return Gathered(answer, evidence, standing.notes)
        paths = {(one.repo, one.path) for one in standing.behind}
        left = [hit for hit in answer.hits if (hit.hit.chunk.repo, hit.hit.chunk.path) not in paths]
        names = ", ".join(sorted(path for _, path in paths))
        note = f"left out, as they changed on disk and are not indexed yet: {names}"
        return Gathered(answer, assemble(left, budget, self.count, Order.RANK, question.text), (*standing.notes, note))

    async def catch_up(self, standing: Standing, steps: Steps) -> None:
        """Wait until what changed on disk is indexed."""
        async with steps.step("catch up") as step:
            step.note = "indexed" if await self.caught_up(standing.behind) else "not indexed in time"

    async def _attempt(
        self, question: Question, budget: int, imagined: Once[Imagined], steps: Steps
    ) -> tuple[Answer, Evidence, Standing]:
        answer = await self._retrieved(question, imagined, steps)
        async with steps.step("evidence") as step:
            evidence = assemble(answer.hits, budget, self.count, Order.RANK, question.text)
            step.note = f"{len(evidence.passages)} passages, {evidence.tokens} of {budget} tokens"
            standing = await self.freshness.on_disk(sources_of([one.judged for one in evidence.passages]))
        return answer, evidence, standing

    async def _retrieved(self, question: Question, imagined: Once[Imagined], steps: Steps) -> Answer:
        async with steps.step("retrieve") as step:
            answer = await self.answering.answer(question)
            steps.inner(answer.retrieval.trace)
            step.note = f"{len(answer.hits)} hits hold, {len(answer.withheld)} withheld"
        if not self.writer.imagines or not _is_gap(answer):
            return answer
        async with steps.step("expand") as step:
            passage = await imagined()
            if not passage.text:
                step.note = passage.why
                return answer
            again = await self.answering.answer_by(question, passage.text, answer.retrieval)
            step.note = f"{len(again.hits)} hits hold of what an imagined passage finds, by the question's own scores"
        if not again.hits:
            return answer
        steps.inner(again.retrieval.trace)
        return again


def _is_gap(answer: Answer) -> bool:
    """Tell whether nothing was near enough to the question; another search is then judged by the question's vectors."""
    why = wording.abstention((one.hit.chunk.path, one.judgement, one.confidence) for one in answer.withheld)
    return not answer.hits and why == wording.GAP and answer.retrieval.vectors is not None
