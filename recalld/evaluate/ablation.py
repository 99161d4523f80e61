"""Ablations: the same questions over every combination of settings, chosen on one half and judged on the other.

A cell is one combination asked under one condition. Each is kept in a file of its own as soon as it is done, named by
all that it was made of: the same command goes on where it was stopped, and asks nothing twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from importlib import metadata
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

from pydantic import TypeAdapter, ValidationError

from recalld.embed.model_folder import is_folder
from recalld.embed.sentence_model import sha256_of
from recalld.errors import ConfigError, UsageError
from recalld.evaluate.case import CONTEXT, NDCG_AT, Case
from recalld.evaluate.corpus import Corpus
from recalld.evaluate.manifest import Setup, commit
from recalld.evaluate.metrics.ranking import hit_at, recall_at
from recalld.evaluate.metrics.sampling import Difference, difference
from recalld.evaluate.observation import Stage
from recalld.evaluate.run import Plan, run
from recalld.evaluate.tasks import Half, Task, digest
from recalld.evaluate.workbench import Workbench

INDEXING = ("embed.", "ingest.")
"""Settings that need another index: they vary slowest."""

Values = Mapping[str, str]
"""Settings by dotted key."""


@dataclass(frozen=True, slots=True)
class Grid:
    """What is varied: values by setting, conditions, and the places that are looked at."""

    settings: Mapping[str, Sequence[str]]
    conditions: Sequence[str]
    ks: Sequence[int]
    hits: int
    seed: int

    def combinations(self) -> list[Values]:
        """Return every combination of settings, those of one index together."""
        keys = sorted(self.settings, key=lambda key: not key.startswith(INDEXING))
        return [dict(zip(keys, values, strict=True)) for values in product(*(self.settings[key] for key in keys))]


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination under one condition, with each task's metrics, taken of what was admitted."""

    settings: Values
    condition: str
    tasks: Mapping[str, Mapping[str, float]]
    took_ms: float
    chunks: int


@dataclass(frozen=True, slots=True)
class Row:
    """A cell's mean on each half, and on the ``report`` half its difference to the first cell of its condition."""

    cell: Cell
    tune: float
    report: float
    difference: Difference


@dataclass(frozen=True, slots=True)
class Ablation:
    """All cells, best first by the ``tune`` half; ``base`` is what the others are compared with."""

    metric: str
    base: Cell
    rows: Sequence[Row]


_CELL = TypeAdapter(Cell)
SPANS = ("span recall", "span precision", "span IoU")

SetupOf = Callable[[Values], Setup]
"""Makes the settings of a combination. Raises ConfigError for a key or value that is none."""


async def ablate(
    workbench: Workbench,
    setup_of: SetupOf,
    grid: Grid,
    corpus: Corpus,
    tasks: Sequence[Task],
    folder: Path,
    at: datetime,
) -> list[Cell]:
    """Return the cells of a grid, in its order; those that ``folder`` holds already are read from it.

    Every combination's settings are made before the first is run. Raises ConfigError, DependencyError, UsageError.
    """
    combinations = grid.combinations()
    setups = [setup_of(values) for values in combinations]
    made_of = [
        metadata.version("recalld"),
        commit(),
        sorted(grid.ks),
        grid.hits,
        grid.seed,
        corpus.digest,
        digest(tasks),
    ]
    places = [{name: folder / f"{_name(setup, name, made_of)}.json" for name in grid.conditions} for setup in setups]
    held = {place: read(place) for names in places for place in names.values() if place.exists()}
    cells: list[Cell] = []
    for number, (values, setup, names) in enumerate(zip(combinations, setups, places, strict=True)):
        workbench.progress("combinations", number, len(combinations))
        for name, place in names.items():
            if place not in held:
                held[place] = await _asked(workbench, setup, corpus, tasks, name, grid, at)
                _keep(place, held[place])
        cells += [replace(held[place], settings=values) for place in names.values()]
    workbench.progress("combinations", len(combinations), len(combinations))
    return cells


async def _asked(
    workbench: Workbench, setup: Setup, corpus: Corpus, tasks: Sequence[Task], name: str, grid: Grid, at: datetime
) -> Cell:
    plan = Plan([name], max(grid.ks), max(grid.hits, *grid.ks), grid.seed)
    done = await run(workbench, setup, corpus, tasks, plan, at)
    cases = done.cases[name]
    return Cell({}, name, _measured(cases, grid.ks), _median(cases), done.manifest["index"]["chunks"])


def judged(cells: Sequence[Cell], tasks: Sequence[Task], metric: str, seed: int) -> Ablation:
    """Rank cells by a metric on the one half, and tell what they gain over the first on the other.

    Raises UsageError where a half has no task with that metric.
    """
    halves: Mapping[Half, frozenset[str]] = {
        half: frozenset(task.id for task in tasks if task.half == half) for half in ("tune", "report")
    }
    first: dict[str, Cell] = {}
    rows = [_row(cell, first.setdefault(cell.condition, cell), halves, metric, seed) for cell in cells]
    return Ablation(metric, cells[0], sorted(rows, key=lambda row: -row.tune))


def require(tasks: Sequence[Task], metric: str, ks: Sequence[int]) -> None:
    """Raise UsageError where an ablation could not be judged: to be asked before the work."""
    for half in ("tune", "report"):
        if not any(task.half == half and task.gold and not task.unserved for task in tasks):
            raise UsageError(
                f"the half `{half}` has no task with gold", suggestion="write more tasks, or set their `split`"
            )
    named = [*(f"{name}@{k}" for name in ("hit", "recall") for k in ks), "MRR", f"nDCG@{NDCG_AT}"]
    passages = [f"{name}@{max(ks)}" for name in ("precision", "passage hit", *SPANS)]
    known = [*named, *passages, f"span recall in {CONTEXT} tokens"]
    if metric not in known:
        raise UsageError(f"there is no metric {metric!r}", suggestion=f"there are {', '.join(known)}")


def metrics(cells: Sequence[Cell]) -> list[str]:
    """Return the metrics that cells have."""
    return list(dict.fromkeys(name for cell in cells for values in cell.tasks.values() for name in values))


def read(path: Path) -> Cell:
    """Read a cell. Raises UsageError for a file that is none."""
    try:
        return _CELL.validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise UsageError(f"{path} is damaged", suggestion="delete it, and run this again") from error


def _keep(path: Path, cell: Cell) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(".tmp")
        beside.write_text(json.dumps(asdict(cell)), "utf-8")
        beside.replace(path)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}", suggestion="name another with --out DIR") from error


def _measured(cases: Sequence[Case], ks: Sequence[int]) -> dict[str, dict[str, float]]:
    """Return what a case has of rank metrics, with those that look at the top taken for every k."""
    return {case.task.id: {**case.ranked[Stage.ADMITTED], **dict(_at(case, ks))} for case in cases if case.task.gold}


def _at(case: Case, ks: Sequence[int]) -> Iterator[tuple[str, float]]:
    for k in ks:
        yield f"hit@{k}", hit_at(case.documents[Stage.ADMITTED], case.task.paths, k)
        yield f"recall@{k}", recall_at(case.documents[Stage.ADMITTED], case.task.paths, k)


def _median(cases: Sequence[Case]) -> float:
    return median(case.observation.took_ms for case in cases)


def _row(cell: Cell, base: Cell, halves: Mapping[Half, frozenset[str]], metric: str, seed: int) -> Row:
    tune, report = (_of(cell, chosen, metric) for chosen in (halves["tune"], halves["report"]))
    before = _of(base, halves["report"], metric)
    common = [task for task in report if task in before]
    if not tune or not common:
        raise UsageError(f"a half has no task with {metric}", suggestion=f"there are {', '.join(metrics([cell]))}")
    changed = difference([report[task] for task in common], [before[task] for task in common], seed)
    return Row(cell, _mean(tune), _mean(report), changed)


def _of(cell: Cell, tasks: frozenset[str], metric: str) -> dict[str, float]:
    return {task: values[metric] for task, values in cell.tasks.items() if task in tasks and metric in values}


def _mean(values: Mapping[str, float]) -> float:
    return sum(values.values()) / len(values)


def _name(setup: Setup, condition: str, made_of: Sequence[Any]) -> str:
    parts = [*made_of, _model(setup.embed.model), setup.plain(), condition]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


def _model(model: str) -> str:
    """Return the sum of a model that is named by its folder, for another may come to lie there."""
    file = Path(model).expanduser() / "model.onnx"
    return sha256_of(file) if is_folder(model) and file.is_file() else model
