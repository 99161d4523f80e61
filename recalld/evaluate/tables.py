"""The tables that people read: the same in the terminal and in the report. Pure: a heading, columns, rows of text."""

from __future__ import annotations

from collections.abc import Callable

from recalld.evaluate.loss import Loss
from recalld.evaluate.metrics.sampling import Mean
from recalld.evaluate.observation import Stage
from recalld.evaluate.run import Run
from recalld.evaluate.scores import Rung

Table = tuple[str, list[str], list[list[str]]]
ANSWER = (
    "right", "decision", "false abstain", "false confident", "stale served", "forbidden served", "supersession correct",
    "temporal accuracy", "required recalled", "source recall", "source precision", "unsupported source",
    "successor first",
)  # fmt: skip
"""Measures of the answer, in the order in which they are shown; those that no task has are left out."""
_LEADING = 6
"""How many of them the first table shows."""


def ladder(run: Run) -> Table:
    """Return the scores that sum a run up, one rung a row: ranking as admitted, and the answer."""
    k = run.plan.k
    ranked = [f"hit@{k}", "MRR", "nDCG@10"]
    answer = [name for name in ANSWER[:_LEADING] if any(name in rung.answered for rung in run.rungs)]
    rows = [
        [
            rung.name,
            *(_mean(rung.ranked[Stage.ADMITTED].get(name)) for name in ranked),
            *(_mean(rung.answered.get(name)) for name in answer),
            _number(rung.confidence.auroc),
            f"{rung.answered['context tokens'].value:.0f}",
            f"{rung.took_ms:.1f}",
        ]
        for rung in run.rungs
    ]
    tasks = run.rungs[0].tasks if run.rungs else 0
    heading = f"{tasks} tasks; documents in {run.plan.hits} passages admitted, then the answer; (n) where n differs"
    columns = ["condition", *ranked, *answer, "AUROC", "tokens", "ms"]
    return heading, columns, [_without_common_counts(row, tasks) for row in rows]


def by_stage(run: Run, metric: str) -> Table:
    """Return one ranking metric at every stage."""
    rows = [[rung.name, *(_interval(rung.ranked[stage].get(metric)) for stage in Stage)] for rung in run.rungs]
    return f"{metric} by stage, with 95 % intervals", ["condition", *(str(stage) for stage in Stage)], rows


def answers(run: Run) -> Table:
    """Return every measure of the answer."""
    names = [name for name in ANSWER if any(name in rung.answered for rung in run.rungs)]
    rows = [[name, *(_interval(rung.answered.get(name)) for rung in run.rungs)] for name in names]
    return "The answer, with 95 % intervals and (n)", ["measure", *(rung.name for rung in run.rungs)], rows


def comparisons(run: Run) -> Table:
    """Return what each rung adds to the one before it."""
    rows = [
        [
            f"{found.condition} over {found.baseline}",
            found.metric,
            f"{found.difference.value:+.3f}",
            f"{found.difference.low:+.3f} to {found.difference.high:+.3f}",
            f"{found.difference.count}",
            chance(found.difference.chance),
        ]
        for found in run.comparisons
    ]
    columns = ["rung", "metric", "change", "95 % of it", "n", "by chance"]
    return "What each rung adds to the one before it, question by question", columns, rows


def losses(run: Run) -> Table:
    """Return how many tasks each rung lost at which stage."""
    rows = []
    for rung in run.rungs:
        lost = [run.losses[rung.name][case.task.id] for case in run.cases[rung.name] if not case.task.unserved]
        rows.append([rung.name, *(str(lost.count(loss) or "") for loss in Loss)])
    used = [0, *(at for at in range(1, len(Loss) + 1) if any(row[at] for row in rows))]
    columns = ["condition", *(str(loss) for loss in Loss)]
    return "Where tasks were lost", [columns[at] for at in used], [[row[at] for at in used] for row in rows]


def unserved(run: Run) -> Table:
    """Return the tasks that a memory of documents is not expected to serve, by the reason given."""
    reasons = sorted({case.task.unserved for cases in run.cases.values() for case in cases} - {""})
    rows = [[reason, *(_right(run, rung.name, reason) for rung in run.rungs)] for reason in reasons]
    return "Counted apart: not expected of a memory of documents", ["why", *(rung.name for rung in run.rungs)], rows


def categories(run: Run) -> Table:
    """Return the share of right answers by the tasks' category."""
    names = sorted({name for rung in run.rungs for name in rung.by_category} - {""})
    rows = [[name, *(_interval(rung.by_category.get(name)) for rung in run.rungs)] for name in names]
    return "Right answers by category", ["category", *(rung.name for rung in run.rungs)], rows


def stage_times(run: Run) -> Table:
    """Return the medians of each stage's duration."""
    stages = list(dict.fromkeys(stage for rung in run.rungs for stage in rung.stage_ms))
    rows = [[rung.name, *(_ms(rung, stage) for stage in stages), f"{rung.took_ms:.1f}"] for rung in run.rungs]
    return "Median ms by stage; stages that run at once overlap", ["condition", *stages, "all"], rows


TABLES: tuple[Callable[[Run], Table], ...] = (
    ladder, comparisons, losses, answers, categories, unserved, stage_times,
)  # fmt: skip
"""What a report shows, beside the ranking metrics by stage."""


def chance(share: float) -> str:
    """Return how often chance alone differs so much; of 2,000 random swaps none is less than 0.001."""
    return "< 0.001" if share < 0.001 else f"{share:.3f}"


def _right(run: Run, name: str, reason: str) -> str:
    cases = [case for case in run.cases[name] if case.task.unserved == reason]
    return f"{sum(case.right for case in cases)} of {len(cases)}"


def _mean(found: Mean | None) -> str:
    return "" if found is None else f"{found.value:.3f} ({found.count})"


def _without_common_counts(row: list[str], tasks: int) -> list[str]:
    return [cell.removesuffix(f" ({tasks})") for cell in row]


def _interval(found: Mean | None) -> str:
    return "" if found is None else f"{found.value:.3f} [{found.low:.2f}, {found.high:.2f}] ({found.count})"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _ms(rung: Rung, stage: str) -> str:
    return f"{rung.stage_ms[stage]:.1f}" if stage in rung.stage_ms else ""
