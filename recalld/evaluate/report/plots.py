"""The pictures of a report, each as PNG bytes with a caption."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recalld.evaluate.case import Case
from recalld.evaluate.conditions import TRUST
from recalld.evaluate.embedder_study import Study
from recalld.evaluate.metrics.sampling import Mean
from recalld.evaluate.observation import Stage
from recalld.evaluate.run import Run
from recalld.trust.verdict import THRESHOLD

BLUE, ORANGE, GREY, GREEN, RED = "#2b6cb0", "#dd8a2e", "#8a94a0", "#3d8b5f", "#b5473c"
_CYCLE = (BLUE, ORANGE, GREEN, RED, "#7b5ea7", "#4aa3a2", "#a08246", GREY, "#d16ba5")
_DPI = 130

Picture = tuple[str, bytes]


def draw_all(run: Run) -> dict[str, Picture]:
    """Return the pictures by name; one that the run has nothing for is left out."""
    drawn: dict[str, Callable[[Run], Picture | None]] = {
        "ladder": _ladder,
        "risk-coverage": _risk_coverage,
        "confidence": _confidence,
        "thresholds": _thresholds,
        "latency": _latency,
    }
    return {name: picture for name, draw in drawn.items() if (picture := draw(run)) is not None}


def regimes(found: Study) -> bytes:
    """Draw the scores of each embedder, one below the other, on one scale for each kind of score."""
    models = list(dict.fromkeys(one.embedder for one in found.regimes))
    signals = list(dict.fromkeys(one.signal for one in found.regimes))
    figure = Figure(figsize=(4 * len(signals), 2.2 * len(models)), layout="constrained")
    grid = figure.subplots(len(models), len(signals), squeeze=False)
    for one in found.regimes:
        axes = grid[models.index(one.embedder)][signals.index(one.signal)]
        for label, colour, scores in (("answerable", BLUE, one.answerable), ("others", ORANGE, one.others)):
            axes.hist(scores, list(np.linspace(-0.1, 1, 45)), label=label, color=colour, alpha=0.65, density=True)
        for errors in one.errors:
            axes.axvline(errors.threshold, color="#333", linewidth=1, linestyle=":")
        axes.set_title(f"{one.embedder}: {one.signal}", fontsize=9)
        axes.set_yticks([])
    grid[0][0].legend(frameon=False, fontsize=8)
    return _png(figure)


def _ladder(run: Run) -> Picture | None:
    """Draw what each rung admits and what it answers rightly."""
    hit = f"hit@{run.plan.k}"
    names = [rung.name for rung in run.rungs]
    if not any(hit in rung.ranked[Stage.ADMITTED] for rung in run.rungs):
        return None
    figure, axes = _figure(9, 0.55 * len(names) + 1.6)
    places = np.arange(len(names))
    series: list[tuple[str, str, list[Mean | None]]] = [
        (f"{hit}, admitted (answerable tasks)", BLUE, [rung.ranked[Stage.ADMITTED].get(hit) for rung in run.rungs]),
        ("right answers (all tasks)", ORANGE, [rung.answered.get("right") for rung in run.rungs]),
    ]
    for offset, (label, colour, means) in zip((-0.19, 0.19), series, strict=True):
        values = [found.value if found else 0.0 for found in means]
        spread = [
            [value - (found.low if found else value) for value, found in zip(values, means, strict=True)],
            [(found.high if found else value) - value for value, found in zip(values, means, strict=True)],
        ]
        axes.barh(places + offset, values, 0.36, label=label, color=colour)
        axes.errorbar(values, places + offset, xerr=np.abs(spread), fmt="none", ecolor="#333", capsize=2, linewidth=1)
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.02)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    return "What each rung finds, and what it answers rightly, with 95 % intervals.", _png(figure)


def _risk_coverage(run: Run) -> Picture | None:
    """Draw what is wrong among the surest answers, for each share of questions that is answered."""
    curves = [rung for rung in run.rungs if rung.confidence.risk and rung.name != "oracle"]
    if not curves:
        return None
    figure, axes = _figure(7, 4)
    for number, rung in enumerate(curves):
        points = rung.confidence.risk
        axes.step(
            [0.0, *(point.coverage for point in points)],
            [points[0].risk, *(point.risk for point in points)],
            where="pre",
            label=f"{rung.name} (area {rung.confidence.aurc:.3f})",
            color=_CYCLE[number % len(_CYCLE)],
            linewidth=2.2 if rung.name == TRUST else 1.2,
        )
    axes.set(xlabel="share of questions answered, surest first", ylabel="share of wrong answers", xlim=(0, 1))
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=8)
    return "Risk and coverage: lower is better, and a curve that rises late knows what it does not know.", _png(figure)


def _confidence(run: Run) -> Picture | None:
    """Draw the confidence in answerable tasks and in others."""
    cases = _trusted(run)
    if not cases:
        return None
    figure, axes = _figure(7, 3.4)
    edges = list(np.linspace(0, 1, 26))
    for label, colour, answerable in (("answerable", BLUE, True), ("not answerable", ORANGE, False)):
        sure = _sure(cases, answerable=answerable)
        axes.hist(sure, edges, label=f"{label} ({len(sure)})", color=colour, alpha=0.65)
    _threshold(axes)
    axes.set(xlabel="calibrated confidence", ylabel="questions", xlim=(0, 1))
    axes.legend(frameon=False)
    return "How sure the memory is, of what it can answer and of what it cannot; it abstains left of the line.", _png(
        figure
    )


def _thresholds(run: Run) -> Picture | None:
    """Draw both kinds of error for every threshold."""
    cases = _trusted(run)
    yes, no = _sure(cases, answerable=True), _sure(cases, answerable=False)
    if not yes or not no:
        return None
    figure, axes = _figure(7, 3.4)
    at = np.linspace(0, 1, 201)
    axes.plot(at, [np.mean(np.array(yes) < t) for t in at], label="false abstain", color=BLUE)
    axes.plot(at, [np.mean(np.array(no) >= t) for t in at], label="false confident", color=ORANGE)
    _threshold(axes)
    axes.set(xlabel="threshold on confidence", ylabel="share of questions", xlim=(0, 1), ylim=(0, 1))
    axes.legend(frameon=False)
    return "What another threshold would cost. Read it, but do not choose it on the questions that you report.", _png(
        figure
    )


def _latency(run: Run) -> Picture | None:
    """Draw the medians of the stages; those that run at once are set side by side all the same."""
    timed = [rung for rung in run.rungs if rung.stage_ms]
    if not timed:
        return None
    stages = list(dict.fromkeys(stage for rung in timed for stage in rung.stage_ms))
    figure, axes = _figure(9, 0.5 * len(timed) + 1.6)
    left = np.zeros(len(timed))
    for number, stage in enumerate(stages):
        width = np.array([rung.stage_ms.get(stage, 0.0) for rung in timed])
        axes.barh(range(len(timed)), width, left=left, label=stage, color=_CYCLE[number % len(_CYCLE)])
        left += width
    axes.plot([rung.took_ms for rung in timed], range(len(timed)), "k|", markersize=16, label="whole search")
    axes.set_yticks(range(len(timed)), [rung.name for rung in timed])
    axes.invert_yaxis()
    axes.set_xlabel("median ms")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=5, frameon=False, fontsize=8)
    return (
        "Where a search spends its time; stages that run at once overlap, so the whole is less than their sum.",
        _png(figure),
    )


def _trusted(run: Run) -> Sequence[Case]:
    """Return the cases with calibrated confidence; none where the run has no such rung."""
    cases = [case for case in run.cases.get(TRUST, ()) if not case.task.unserved]
    return cases if all(case.observation.confidence is not None for case in cases) else ()


def _sure(cases: Sequence[Case], *, answerable: bool) -> list[float]:
    return [case.observation.confidence or 0.0 for case in cases if case.task.answerable is answerable]


def _threshold(axes: Axes) -> None:
    axes.axvline(THRESHOLD, color="#333", linewidth=1, linestyle="--")


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, axis="both", color="#e6e8eb", linewidth=0.8)
    axes.set_axisbelow(True)
    return figure, axes


def _png(figure: Figure) -> bytes:
    into = BytesIO()
    figure.savefig(into, format="png", dpi=_DPI)
    return into.getvalue()
