"""A run as files: a fresh folder each, with the manifest, the tasks, a line for every case, and the scores."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from recalld.errors import ConfigError, NotFoundError, UsageError
from recalld.evaluate.case import Case
from recalld.evaluate.observation import Stage
from recalld.evaluate.run import Run
from recalld.evaluate.tasks import Task, write_tasks

MANIFEST, TASKS, CASES, SCORES = "manifest.json", "tasks.jsonl", "cases.jsonl", "scores.json"
_PARTS = frozenset({"condition", "task", "right", "loss", "gold_rank", "documents", "ranked", "answered"})
"""What a record of a case has at least."""
SHOWN = 10
"""Documents of a stage that a record names."""


@dataclass(frozen=True, slots=True)
class Record:
    """A run as it lies in its folder; ``cases`` are by condition and task."""

    folder: Path
    manifest: Mapping[str, Any]
    scores: Mapping[str, Any]
    cases: Mapping[str, Mapping[str, Mapping[str, Any]]]


def fresh_folder(below: Path, at: datetime) -> Path:
    """Make a folder that no run has had. Raises ConfigError where it cannot be made."""
    stem = at.strftime("%Y-%m-%d-%H%M%S")
    try:
        below.mkdir(parents=True, exist_ok=True)
        for number in range(1, 1000):
            folder = below / (stem if number == 1 else f"{stem}-{number}")
            try:
                folder.mkdir()
            except FileExistsError:
                continue
            return folder
    except OSError as error:
        raise ConfigError(
            f"cannot write {below}: {error.strerror}", suggestion="name another with --out DIR"
        ) from error
    raise ConfigError(f"{below} holds a thousand runs of this second")


def require(below: Path) -> None:
    """Raise ConfigError where no run can be kept below a folder: to be asked before the work."""
    try:
        below.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=below):
            pass
    except OSError as error:
        raise ConfigError(
            f"cannot write {below}: {error.strerror}", suggestion="name another with --out DIR"
        ) from error


def write(folder: Path, run: Run, tasks: Sequence[Task]) -> None:
    """Write a run into its folder."""
    plan = {"conditions": list(run.plan.conditions), "k": run.plan.k, "hits": run.plan.hits, "missing": run.missing}
    (folder / MANIFEST).write_text(_json({**run.manifest, "plan": plan}), "utf-8")
    write_tasks(folder / TASKS, tasks)
    with (folder / CASES).open("w", encoding="utf-8") as file:
        for name, cases in run.cases.items():
            for case in cases:
                file.write(json.dumps(_case(case, run.losses[name][case.task.id]), ensure_ascii=False) + "\n")
    (folder / SCORES).write_text(_json(scores(run)), "utf-8")


def scores(run: Run) -> dict[str, Any]:
    """Return the scores of a run as plain JSON."""
    return {
        "rungs": [asdict(rung) for rung in run.rungs],
        "unserved": {name: asdict(rung) for name, rung in run.unserved.items()},
        "comparisons": [asdict(comparison) for comparison in run.comparisons],
        "missing": dict(run.missing),
        "losses": {name: _counted(run, name) for name in run.cases},
    }


def read(folder: Path) -> Record:
    """Read a run. Raises NotFoundError where there is none, UsageError for files that are not a run's."""
    if not (folder / MANIFEST).is_file():
        raise NotFoundError(f"{folder} holds no evaluation", suggestion="`recall evaluate` makes one")
    try:
        manifest, found = (json.loads((folder / name).read_text("utf-8")) for name in (MANIFEST, SCORES))
        cases: dict[str, dict[str, Mapping[str, Any]]] = {}
        if not isinstance(manifest, dict) or not isinstance(found, dict):
            raise TypeError("a file holds something else")
        for row in _rows(folder / CASES):
            if not row.keys() >= _PARTS:
                raise KeyError(*sorted(_PARTS - row.keys())[:1])
            cases.setdefault(row["condition"], {})[row["task"]] = row
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{folder} is damaged: {error}", suggestion="run the evaluation again") from error
    return Record(folder, manifest, found, cases)


def newest(below: Path) -> Path:
    """Return the newest run below a folder. Raises NotFoundError where there is none."""
    folders = [path.parent for path in below.glob(f"*/{MANIFEST}")]
    if not folders:
        raise NotFoundError(f"there is no evaluation in {below}", suggestion="`recall evaluate` makes one")
    return max(folders, key=lambda folder: (folder / MANIFEST).stat().st_mtime_ns)


def _case(case: Case, loss: str) -> dict[str, Any]:
    gold = case.task.paths
    return {
        "condition": case.condition,
        "task": case.task.id,
        "right": case.right,
        "loss": str(loss),
        "gold_rank": {
            stage: next((rank for rank, path in enumerate(documents, start=1) if path in gold), None)
            for stage, documents in case.documents.items()
        },
        "documents": {stage: list(documents[:SHOWN]) for stage, documents in case.documents.items()},
        "withheld": {str(chunk): verdict for chunk, verdict in case.observation.withheld.items()},
        "score": case.observation.score,
        "confidence": case.observation.confidence,
        "took_ms": round(case.observation.took_ms, 3),
        "notes": list(case.observation.notes),
        "ranked": case.ranked[Stage.ADMITTED],
        "answered": case.answered,
    }


def _counted(run: Run, name: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for case in run.cases[name]:
        loss = run.losses[name][case.task.id]
        if not case.task.unserved:
            found[loss] = found.get(loss, 0) + 1
    return found


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n"
