"""One task under one condition, with every value that is measured of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recalld.evaluate.catalogue import Catalogue
from recalld.evaluate.metrics.ranking import hit_at, ndcg_at, precision_at, recall_at, reciprocal_rank
from recalld.evaluate.metrics.spans import Places, Span, overlap
from recalld.evaluate.observation import Observation, Stage
from recalld.evaluate.tasks import Task

NDCG_AT = 10
CONTEXT = 1_000
"""Tokens of context in which passages of any size are compared."""

Values = dict[str, float]
"""Metric by name. One that does not apply to a task is left out, so that means are over the tasks that it is of."""


@dataclass(frozen=True, slots=True)
class Case:
    """A task, what a condition did with it, and what came of that: by stage, and of the answer as a whole."""

    task: Task
    condition: str
    observation: Observation
    documents: Mapping[Stage, Sequence[str]]
    ranked: Mapping[Stage, Values]
    answered: Values

    @property
    def right(self) -> bool:
        """Tell whether the answer is: see :func:`judge`."""
        return self.answered["right"] == 1.0


def judge(task: Task, condition: str, observation: Observation, catalogue: Catalogue, k: int) -> Case:
    """Measure what a condition did with a task; ``k`` is how many places are looked at.

    An answer is *right* where gold is among the first k documents served (or, where a task names texts alone, all that
    are required), and nothing stale or forbidden is served at all. Where nothing can be known, right is to serve
    nothing; where a task only forbids, silence is as right as anything clean. The *decision* is exact where moreover
    the first document served is gold.
    """
    documents = {stage: catalogue.documents(ids) for stage, ids in observation.stages.items()}
    ranked = {
        stage: _ranked(task, observation.stages[stage], documents[stage], catalogue, k) if _has_gold(task) else {}
        for stage in Stage
    }
    answered = _answered(task, observation, documents[Stage.ANSWERED], catalogue, k)
    return Case(task, condition, observation, documents, ranked, answered)


def _has_gold(task: Task) -> bool:
    return task.answerable and bool(task.gold)


def _ranked(task: Task, chunks: Sequence[int], documents: Sequence[str], catalogue: Catalogue, k: int) -> Values:
    """Measure one ranking by documents, and by passages where the task says which answer it."""
    values = {
        f"precision@{k}": precision_at(documents, task.paths, k),
        f"recall@{k}": recall_at(documents, task.paths, k),
        f"hit@{k}": hit_at(documents, task.paths, k),
        "MRR": reciprocal_rank(documents, task.paths),
        f"nDCG@{NDCG_AT}": ndcg_at(documents, task.paths, NDCG_AT),
    }
    wanted = _wanted(task, catalogue)
    if wanted:
        found = overlap(catalogue.shown(chunks[:k]), wanted)
        values |= {
            f"passage hit@{k}": hit_at(chunks, catalogue.relevant(task), k),
            f"span recall@{k}": found.recall,
            f"span precision@{k}": found.precision,
            f"span IoU@{k}": found.iou,
            f"span recall in {CONTEXT} tokens": overlap(catalogue.shown_within(chunks, CONTEXT), wanted).recall,
        }
    return values


def _answered(task: Task, observation: Observation, served: Sequence[str], catalogue: Catalogue, k: int) -> Values:
    """Measure what was served, all of it: what stands in the answer is read, whatever its rank."""
    chunks = observation.stages[Stage.ANSWERED]
    values: Values = {"context tokens": float(catalogue.tokens(chunks))}
    if not task.answerable:
        silent = float(not served)
        unsupported = {"unsupported source": 1.0} if served else {}
        return values | {"false confident": 1.0 - silent, "right": silent, "decision": silent} | unsupported
    found = _found(task, chunks, served, catalogue)
    clean = not found.stale and not found.forbidden
    right = clean and (bool(task.paths & set(served[:k])) if task.gold else found.required == 1.0)
    first = bool(served) and served[0] in task.paths
    if task.gold or task.required:
        values["false abstain"] = float(not served)
    values |= {"right": float(right), "decision": float(right and (first or not task.gold))}
    if task.gold:
        values |= _sources(task, served)
    if task.as_of or task.known_as_of:
        values["temporal accuracy"] = float(right)
    if task.stale:
        values["stale served"] = float(found.stale)
    if task.stale and task.gold:
        values |= {"successor first": float(first), "supersession correct": float(first and not found.stale)}
    if task.required:
        values["required recalled"] = found.required
    if task.forbidden:
        values["forbidden served"] = float(found.forbidden)
    return values


@dataclass(frozen=True, slots=True)
class _Found:
    """What the served passages have of what a task names; ``required`` is the share of its required texts."""

    stale: bool
    forbidden: bool
    required: float


def _found(task: Task, chunks: Sequence[int], served: Sequence[str], catalogue: Catalogue) -> _Found:
    required = len(_texts(chunks, task.required, catalogue)) / len(task.required) if task.required else 1.0
    return _Found(bool(set(served) & set(task.stale)), bool(_texts(chunks, task.forbidden, catalogue)), required)


def _sources(task: Task, served: Sequence[str]) -> Values:
    good = len(task.paths & set(served))
    values = {"source recall": good / len(task.paths)}
    return values | ({"source precision": good / len(served), "unsupported source": float(not good)} if served else {})


def _wanted(task: Task, catalogue: Catalogue) -> Places:
    """Return the characters that answer a task; empty where it names whole documents alone."""
    wanted: dict[str, list[Span]] = {}
    for gold in task.gold:
        span = catalogue.spans(gold)
        if span is not None:
            wanted.setdefault(gold.path, []).append(span)
    return wanted


def _texts(chunks: Sequence[int], texts: Sequence[str], catalogue: Catalogue) -> list[str]:
    """Return those texts that stand in any of the chunks, letter case apart."""
    if not texts:
        return []
    held = "\n".join(catalogue.chunks[id_].text for id_ in chunks if id_ in catalogue.chunks).casefold()
    return [text for text in texts if text.casefold() in held]
