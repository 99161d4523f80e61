"""Fine-tuning, honestly: trained on the half ``tune``, judged on the half ``report``, null results included."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from anyio import from_thread, to_thread

from recalld.embed import minilm
from recalld.embed.factory import make_embedder
from recalld.errors import UsageError
from recalld.evaluate.catalogue import Catalogue
from recalld.evaluate.conditions import DENSE, HYBRID, LATE
from recalld.evaluate.corpus import Corpus
from recalld.evaluate.finetune.training import Pair, Schedule, require, train
from recalld.evaluate.manifest import Setup
from recalld.evaluate.metrics.sampling import Difference, difference
from recalld.evaluate.observation import Stage
from recalld.evaluate.run import Plan, Run, opened, run
from recalld.evaluate.tasks import Task
from recalld.evaluate.workbench import Workbench

CONDITIONS = (DENSE, HYBRID, LATE)
METRICS = ("hit@5", "MRR", "passage hit@5", "span recall@5")
LEAST_PAIRS = 16


@dataclass(frozen=True, slots=True)
class Effect:
    """One metric of one condition on the half that had no say, before and after."""

    condition: str
    metric: str
    before: float
    after: float
    difference: Difference


@dataclass(frozen=True, slots=True)
class Tuned:
    """What came of it: ``pairs`` trained on, the mean loss of each epoch, and the effect, which may be none."""

    model: str
    pairs: int
    losses: Sequence[float]
    effects: Sequence[Effect]


async def finetune(
    workbench: Workbench,
    setup: Setup,
    corpus: Corpus,
    tasks: Sequence[Task],
    schedule: Schedule,
    target: Path,
    at: datetime,
) -> Tuned:
    """Fine-tune the packaged model on one half of the tasks, write it to ``target``, and judge it on the other.

    Raises ConfigError without the libraries, UsageError where there are too few pairs or nothing to judge by.
    """
    require()
    base, tuned = setup.with_model(minilm.NAME), _with_folder(setup, target)
    judges = [task for task in tasks if task.half == "report" and task.gold and not task.unserved]
    if not judges:
        raise UsageError("the half `report` has no task with gold", suggestion="see `split` in docs/evaluate.md")
    pairs = await _pairs(workbench, base, corpus, tasks)
    plan = Plan(CONDITIONS, seed=schedule.seed)
    before = await run(workbench, base, corpus, judges, plan, at)

    def tell(done: int, steps: int) -> None:
        from_thread.run_sync(workbench.progress, "training", done, steps)

    source = await to_thread.run_sync(minilm.prepare, workbench.cache)
    losses = await to_thread.run_sync(train, source, pairs, schedule, target, tell)
    after = await run(workbench, tuned, corpus, judges, plan, at)
    return Tuned(str(target), len(pairs), losses, effects(before, after, schedule.seed))


async def _pairs(workbench: Workbench, setup: Setup, corpus: Corpus, tasks: Sequence[Task]) -> list[Pair]:
    embedder = await make_embedder(setup.embed, workbench.cache)
    try:
        async with opened(workbench, setup, corpus, embedder, None) as (_, catalogue):
            found = [pair for task in tasks if task.half == "tune" for pair in pairs_of(task, catalogue)]
    finally:
        await embedder.aclose()
    if len(found) < LEAST_PAIRS:
        raise UsageError(
            f"the half `tune` gives {len(found)} pairs of question and passage; {LEAST_PAIRS} are needed",
            suggestion="write more tasks: `recall evaluate propose`",
        )
    return found


def _with_folder(setup: Setup, folder: Path) -> Setup:
    return setup.with_model(os.path.abspath(folder))


def pairs_of(task: Task, catalogue: Catalogue) -> list[Pair]:
    """Return a pair for each gold passage of a task; of a document that is gold as a whole, its first passage."""
    found: dict[str, Pair] = {}
    for gold in task.gold:
        relevant = sorted(catalogue.relevant(task.model_copy(update={"gold": (gold,)})))
        chosen = relevant if catalogue.spans(gold) else relevant[:1]
        texts = [catalogue.chunks[id_].text for id_ in chosen]
        found |= {text: Pair(task.query, text) for text in texts}
    return list(found.values())


def effects(before: Run, after: Run, seed: int) -> list[Effect]:
    """Compare two runs of the same tasks, on what was admitted; metrics of passages where tasks name them."""
    found: list[Effect] = []
    for condition in before.cases:
        for metric in METRICS:
            old, new = (
                [
                    case.ranked[Stage.ADMITTED][metric]
                    for case in one.cases[condition]
                    if metric in case.ranked[Stage.ADMITTED]
                ]
                for one in (before, after)
            )
            if not old:
                continue
            changed = difference(new, old, seed)
            found.append(Effect(condition, metric, sum(old) / len(old), sum(new) / len(new), changed))
    return found
