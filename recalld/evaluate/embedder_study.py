"""Embedders side by side: where their scores lie for what can be answered and what cannot, and what a threshold does.

A cosine of 0.5 is a sure match with one embedder and noise with another. The study shows each one's regime, what a
threshold that is fixed for all would cost, and what the calibration, which measures it on the memory itself, gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from recalld.embed.factory import make_embedder
from recalld.embed.fastembed_model import on_disk
from recalld.errors import UsageError
from recalld.evaluate.conditions import DENSE, LATE, TRUST, Ladder
from recalld.evaluate.corpus import Corpus
from recalld.evaluate.manifest import Setup
from recalld.evaluate.metrics.confidence import auroc
from recalld.evaluate.observation import Observation
from recalld.evaluate.run import opened
from recalld.evaluate.tasks import Task
from recalld.evaluate.workbench import Workbench
from recalld.trust.probes import bank
from recalld.trust.verdict import THRESHOLD

COSINE, MAXSIM, CONFIDENCE = "cosine", "MaxSim", "calibrated"
FIXED = (0.3, 0.5, 0.7)
"""Thresholds on the cosine that people set."""
LEAST_UNKNOWN = 20
"""With fewer questions that cannot be known, shipped ones are asked, too: those that no calibration was made with."""
_QUANTILES = (0.05, 0.5, 0.95)


@dataclass(frozen=True, slots=True)
class Errors:
    """What a threshold costs: the share of answerable questions below it, and of others not below it."""

    threshold: float
    false_abstain: float
    false_confident: float


@dataclass(frozen=True, slots=True)
class Regime:
    """One embedder's best score of each question, of one kind, with what thresholds on it do.

    ``best`` is the threshold with the fewest errors on these very questions, which nobody knows beforehand.
    """

    embedder: str
    signal: str
    answerable: Sequence[float]
    others: Sequence[float]
    auroc: float | None
    errors: Sequence[Errors]
    best: Errors

    def quantiles(self) -> tuple[Sequence[float], Sequence[float]]:
        """Return the 5, 50 and 95 % points of the answerable and of the others."""
        return _at(self.answerable), _at(self.others)


@dataclass(frozen=True, slots=True)
class Study:
    """Regimes by embedder; ``failed`` says why an embedder could not be had or calibrated."""

    regimes: Sequence[Regime]
    questions: Mapping[str, int]
    failed: Mapping[str, str]


async def study(
    workbench: Workbench,
    setup: Setup,
    corpus: Corpus,
    tasks: Sequence[Task],
    models: Sequence[str],
    at: datetime,
    seed: int,
) -> Study:
    """Index the corpus with each embedder, calibrate it without labels, and ask all questions.

    Raises ConfigError for a model that does not exist, DependencyError when one cannot be loaded, UsageError for tasks
    that nothing is answerable of.
    """
    asked = _with_unknown(tasks, setup.trust.probes)
    known = sum(task.answerable for task in asked)
    if not 0 < known < len(asked):
        raise UsageError("it takes answerable questions and others", suggestion="`recall evaluate check` counts them")
    regimes: list[Regime] = []
    failed: dict[str, str] = {}
    for model in models:
        own = setup.with_model(model)
        embedder = await make_embedder(own.embed, workbench.cache)
        try:
            async with opened(workbench, own, corpus, embedder, seed) as (bench, catalogue):
                ladder = Ladder(bench, catalogue, own.recall, 10, at)
                if bench.uncalibrated:
                    failed[model] = bench.uncalibrated
                regimes += await _regimes(model, ladder, asked, workbench)
        finally:
            await embedder.aclose()
    return Study(regimes, {"answerable": known, "others": len(asked) - known}, failed)


def known_models(workbench: Workbench) -> list[str]:
    """Return the embedders that can be had here without a download."""
    return ["hashing", "minilm", *on_disk(workbench.cache)]


async def _regimes(model: str, ladder: Ladder, tasks: Sequence[Task], workbench: Workbench) -> list[Regime]:
    found: list[Regime] = []
    for signal, condition in ((COSINE, DENSE), (MAXSIM, LATE), (CONFIDENCE, TRUST)):
        if ladder.missing(condition) or (signal == CONFIDENCE and ladder.bench.calibration is None):
            continue
        observe = ladder.condition(condition).observe
        seen: list[Observation] = []
        for number, task in enumerate(tasks):
            workbench.progress(f"{model}, {signal}", number, len(tasks))
            seen.append(await observe(task))
        workbench.progress(f"{model}, {signal}", len(tasks), len(tasks))
        scores = [one.score if signal != CONFIDENCE else one.confidence or 0.0 for one in seen]
        found.append(regime(model, signal, scores, [task.answerable for task in tasks]))
    return found


def regime(embedder: str, signal: str, scores: Sequence[float], answerable: Sequence[bool]) -> Regime:
    """Return what scores say; there must be both kinds of questions."""
    yes = [score for score, known in zip(scores, answerable, strict=True) if known]
    no = [score for score, known in zip(scores, answerable, strict=True) if not known]
    fixed = {COSINE: FIXED, CONFIDENCE: (THRESHOLD,)}.get(signal, ())
    candidates = [_errors(threshold, yes, no) for threshold in sorted(set(scores))]
    best = min(candidates, key=lambda errors: errors.false_abstain + errors.false_confident)
    return Regime(
        embedder, signal, yes, no, auroc(scores, answerable), [_errors(threshold, yes, no) for threshold in fixed], best
    )


def _errors(threshold: float, yes: Sequence[float], no: Sequence[float]) -> Errors:
    below = sum(score < threshold for score in yes)
    above = sum(score >= threshold for score in no)
    return Errors(threshold, below / len(yes), above / len(no))


def _with_unknown(tasks: Sequence[Task], probes: int) -> list[Task]:
    served = [task for task in tasks if not task.unserved]
    if sum(not task.answerable for task in served) >= LEAST_UNKNOWN:
        return served
    return [
        *served,
        *(
            Task(id=f"shipped-{number}", query=probe.query, answerable=False)
            for number, probe in enumerate(bank()[probes:], start=1)
        ),
    ]


def _at(values: Sequence[float]) -> list[float]:
    return [float(value) for value in np.quantile(np.asarray(values), _QUANTILES)]
