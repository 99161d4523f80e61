"""Reports that people look at: one self-contained HTML file, and its pictures as PNG.

matplotlib draws and Jinja2 lays out: both come with ``recalld[evaluate]``, and are asked for before any work is done.
"""

from __future__ import annotations

import base64
import importlib.util
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from recalld.errors import ConfigError
from recalld.evaluate import tables
from recalld.evaluate.conditions import ORACLE
from recalld.evaluate.embedder_study import Study
from recalld.evaluate.observation import Stage
from recalld.evaluate.run import Run
from recalld.evaluate.tasks import Task


def require() -> None:
    """Raise ConfigError where a library that reports need is missing."""
    missing = [name for name in ("matplotlib", "jinja2") if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"reports need {' and '.join(missing)}",
            suggestion="pip install 'recalld[evaluate]', or leave them out with --no-report",
        )


def write(folder: Path, run: Run, tasks: Sequence[Task]) -> None:
    """Write ``report.html`` and the PNGs beside it."""
    from recalld.evaluate.report import plots

    pictures = {}
    for name, (caption, png) in plots.draw_all(run).items():
        (folder / f"{name}.png").write_bytes(png)
        pictures[name] = (caption, base64.b64encode(png).decode())
    (folder / "report.html").write_text(_page(run, tasks, pictures), "utf-8")


def write_study(folder: Path, found: Study) -> None:
    """Write ``embedders.png``: each embedder's scores of answerable questions and of others."""
    from recalld.evaluate.report import plots

    (folder / "embedders.png").write_bytes(plots.regimes(found))


def _page(run: Run, tasks: Sequence[Task], pictures: dict[str, tuple[str, str]]) -> str:
    from jinja2 import Environment

    source = (resources.files("recalld.evaluate.report") / "page.html").read_text("utf-8")
    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(source)
    k = run.plan.k
    staged = [tables.by_stage(run, metric) for metric in (f"hit@{k}", "MRR", "nDCG@10", f"recall@{k}")]
    shown = [*(build(run) for build in tables.TABLES), *staged]
    return page.render(
        run=run,
        tasks={task.id: task for task in tasks},
        tables=[(heading, columns, rows) for heading, columns, rows in shown if rows],
        pictures=pictures,
        missed=_missed(run),
    )


def _missed(run: Run) -> list[tuple[str, str, str]]:
    """Return the tasks that the last rung but the oracle missed: id, where it was lost, what was served first."""
    names = [rung.name for rung in run.rungs if rung.name != ORACLE]
    if not names:
        return []
    losses, cases = run.losses[names[-1]], run.cases[names[-1]]
    return [
        (case.task.id, losses[case.task.id], (*case.documents[Stage.ANSWERED], "nothing")[0])
        for case in cases
        if not case.right and not case.task.unserved
    ]
