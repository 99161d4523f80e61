"""One run: the same tasks, asked of every rung of the ladder over one index."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from anyio import to_thread

from recalld.embed.factory import make_embedder
from recalld.embed.protocol import Embedder
from recalld.errors import UsageError
from recalld.evaluate.case import Case, judge
from recalld.evaluate.catalogue import Catalogue
from recalld.evaluate.conditions import CROSS, TRUST, Ladder
from recalld.evaluate.corpus import Corpus
from recalld.evaluate.loss import Loss, lost_at
from recalld.evaluate.manifest import Setup, manifest
from recalld.evaluate.scores import Comparison, Rung, compare, score
from recalld.evaluate.tasks import Task
from recalld.evaluate.workbench import Bench, Progress, Tuning, Workbench
from recalld.ingest.chunk_policy import ChunkPolicy
from recalld.judges import BUILT_IN, make_reranker
from recalld.recall.rerank import Reranker


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be run. ``hits`` is how many passages an answer may have, ``k`` how many places are looked at."""

    conditions: Sequence[str]
    k: int = 5
    hits: int = 10
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    """What came of it, by condition; ``missing`` says why a condition could not be had."""

    plan: Plan
    manifest: Mapping[str, Any]
    cases: Mapping[str, Sequence[Case]]
    losses: Mapping[str, Mapping[str, Loss]]
    """Where each task was lost, by condition and task."""
    rungs: Sequence[Rung]
    unserved: Mapping[str, Rung]
    """Scores of the tasks that a memory of documents is not expected to serve."""
    comparisons: Sequence[Comparison]
    missing: Mapping[str, str]


async def run(
    workbench: Workbench, setup: Setup, corpus: Corpus, tasks: Sequence[Task], plan: Plan, at: datetime
) -> Run:
    """Index the corpus where that was not done yet, and ask. ``at`` is now for tasks that do not say when.

    Raises ConfigError for a model or plugin that does not exist, DependencyError when one cannot be loaded.
    """
    embedder = await make_embedder(setup.embed, workbench.cache)
    try:
        seed = plan.seed if TRUST in plan.conditions else None
        async with opened(workbench, setup, corpus, embedder, seed) as (bench, catalogue):
            cross = await _cross_encoder(setup, bench, workbench.cache) if CROSS in plan.conditions else None
            ladder = Ladder(bench, catalogue, setup.recall, plan.hits, at, cross)
            facts = manifest(setup, corpus, tasks, bench, plan.seed, at)
            return await measured(ladder, tasks, plan, facts, workbench.progress)
    finally:
        await embedder.aclose()


async def measured(
    ladder: Ladder, tasks: Sequence[Task], plan: Plan, facts: Mapping[str, Any], progress: Progress
) -> Run:
    """Ask the tasks of every rung that can be had, and measure what came of it."""
    missing = {name: why for name in plan.conditions if (why := ladder.missing(name))}
    names = [name for name in plan.conditions if name not in missing]
    if not names:
        raise UsageError(f"no rung is left to ask: {'; '.join(missing.values())}", suggestion="name others")
    cases = {name: await _ask(ladder, name, tasks, plan.k, progress) for name in names}
    return _concluded(plan, facts, cases, ladder.catalogue, missing)


@asynccontextmanager
async def opened(
    workbench: Workbench, setup: Setup, corpus: Corpus, embedder: Embedder, seed: int | None
) -> AsyncIterator[tuple[Bench, Catalogue]]:
    """Open the index of a corpus by the settings, with what stands where in it. Without a seed it is not calibrated."""
    policy = ChunkPolicy(setup.ingest.policy, setup.ingest.chunk_tokens, setup.ingest.overlap_tokens)
    tuning = None if seed is None else Tuning(setup.recall, setup.trust, seed)
    async with workbench.index(corpus, embedder, policy, tuning) as bench:
        yield bench, Catalogue(await bench.store.chunks.all_of(bench.generation.id), corpus)


async def _ask(ladder: Ladder, name: str, tasks: Sequence[Task], k: int, progress: Progress) -> list[Case]:
    """Ask one after another: a duration is that of one search alone."""
    condition = ladder.condition(name)
    cases: list[Case] = []
    for number, task in enumerate(tasks):
        progress(name, number, len(tasks))
        cases.append(judge(task, name, await condition.observe(task), ladder.catalogue, k))
    progress(name, len(tasks), len(tasks))
    return cases


async def _cross_encoder(setup: Setup, bench: Bench, cache: Path) -> Reranker | None:
    """Return the reranker that the settings name, loaded; None where it is the built-in one."""
    if setup.recall.reranker == BUILT_IN:
        return None
    return await to_thread.run_sync(make_reranker, setup.recall, cache, bench.store.chunks.texts)


def _concluded(
    plan: Plan,
    facts: Mapping[str, Any],
    cases: Mapping[str, Sequence[Case]],
    catalogue: Catalogue,
    missing: Mapping[str, str],
) -> Run:
    served = {name: [case for case in held if not case.task.unserved] for name, held in cases.items()}
    apart = {name: [case for case in held if case.task.unserved] for name, held in cases.items()}
    return Run(
        plan,
        facts,
        cases,
        {name: {case.task.id: lost_at(case, catalogue, plan.k) for case in held} for name, held in cases.items()},
        [score(name, held, plan.seed) for name, held in served.items() if held],
        {name: score(name, held, plan.seed) for name, held in apart.items() if held},
        compare({name: held for name, held in served.items() if held}, plan.k, plan.seed),
        missing,
    )
