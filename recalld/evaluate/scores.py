"""From cases to a table: means with intervals by condition and stage, and what each rung adds to the one below."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from recalld.evaluate.case import Case, Values
from recalld.evaluate.metrics.confidence import Point, area_under, auroc, calibration_error, risk_coverage
from recalld.evaluate.metrics.sampling import Difference, Mean, difference, mean
from recalld.evaluate.observation import Stage


@dataclass(frozen=True, slots=True)
class Confidence:
    """How sure a condition was, over all tasks. None where it cannot be said.

    ``auroc`` is of telling answerable tasks from others, by calibrated confidence where there is one, else by the
    condition's best raw score. ``risk`` is the curve of wrong answers over coverage, ``aurc`` the area under it.
    ``calibration_error`` is of calibrated confidence as the chance that gold was among the passages admitted.
    """

    calibrated: bool
    auroc: float | None
    aurc: float | None
    risk: Sequence[Point]
    calibration_error: float | None


@dataclass(frozen=True, slots=True)
class Rung:
    """One condition's scores. ``ranked`` are taken at each stage; all others of the answer."""

    name: str
    tasks: int
    ranked: Mapping[Stage, Mapping[str, Mean]]
    answered: Mapping[str, Mean]
    by_category: Mapping[str, Mean]
    """Share of right answers by the tasks' category."""
    confidence: Confidence
    took_ms: float
    """Median of a search."""
    stage_ms: Mapping[str, float]
    """Medians by the stages of a search."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a condition changes against another one, on the same tasks, in one metric."""

    condition: str
    baseline: str
    metric: str
    difference: Difference


def score(name: str, cases: Sequence[Case], seed: int) -> Rung:
    """Return the scores of one condition over its cases (at least one)."""
    ranked = {stage: _means([case.ranked[stage] for case in cases], seed) for stage in Stage}
    categories = sorted({case.task.category for case in cases})
    return Rung(
        name,
        len(cases),
        ranked,
        _means([case.answered for case in cases], seed),
        {
            category: mean([case.answered["right"] for case in cases if case.task.category == category], seed)
            for category in categories
        },
        _confidence(cases),
        median(case.observation.took_ms for case in cases),
        _median_stages(cases),
    )


def compare(cases: Mapping[str, Sequence[Case]], k: int, seed: int) -> list[Comparison]:
    """Compare each condition with the one before it, on what was admitted and on what was answered."""
    names = list(cases)
    found: list[Comparison] = []
    measures: Mapping[str, Callable[[Case], float | None]] = {
        f"hit@{k} ({Stage.ADMITTED})": lambda case: case.ranked[Stage.ADMITTED].get(f"hit@{k}"),
        f"MRR ({Stage.ADMITTED})": lambda case: case.ranked[Stage.ADMITTED].get("MRR"),
        f"right ({Stage.ANSWERED})": lambda case: case.answered["right"],
    }
    for baseline, name in pairwise(names):
        for metric, value in measures.items():
            difference_ = _paired(cases[name], cases[baseline], value, seed)
            if difference_ is not None:
                found.append(Comparison(name, baseline, metric, difference_))
    return found


def _paired(
    cases: Sequence[Case], baseline: Sequence[Case], value: Callable[[Case], float | None], seed: int
) -> Difference | None:
    before = {case.task.id: value(case) for case in baseline}
    pairs = [(value(case), before.get(case.task.id)) for case in cases]
    both = [(new, old) for new, old in pairs if new is not None and old is not None]
    return difference([new for new, _ in both], [old for _, old in both], seed) if both else None


def _means(rows: Sequence[Values], seed: int) -> dict[str, Mean]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: mean([row[name] for row in rows if name in row], seed) for name in names}


def _confidence(cases: Sequence[Case]) -> Confidence:
    calibrated = all(case.observation.confidence is not None for case in cases)
    sure = [_sure(case, calibrated) for case in cases]
    if len(set(sure)) < 2:
        return Confidence(calibrated, None, None, (), None)
    points = risk_coverage(sure, [_admitted(case) for case in cases])
    error = calibration_error(sure, [_admitted(case) for case in cases]) if calibrated else None
    return Confidence(
        calibrated, auroc(sure, [case.task.answerable for case in cases]), area_under(points), points, error
    )


def _sure(case: Case, calibrated: bool) -> float:
    confidence = case.observation.confidence
    return confidence if calibrated and confidence is not None else case.observation.score


def _admitted(case: Case) -> bool:
    """Tell whether an answer without abstaining would have had gold in it."""
    return case.task.answerable and bool(case.task.paths & set(case.documents[Stage.ADMITTED]))


def _median_stages(cases: Sequence[Case]) -> dict[str, float]:
    count = Counter(stage for case in cases for stage in case.observation.stage_ms)
    return {stage: median(case.observation.stage_ms.get(stage, 0.0) for case in cases) for stage in count}
