"""What benchmarks saw before, and whether a new figure is a change or the noise of the machine.

A line of ``.bench/history.jsonl`` is one run: when, of what code, on which machine, with its figures. A figure is
compared with the median of the last runs on the same machine; what is noise is taken from how those runs differ.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from tests.bench.figure import Figure

LOOKED_AT = 10
"""The last runs that a figure is compared with."""
ENOUGH = 4
"""From so many runs on, their own spread tells what is noise."""
ASSUMED = 0.15
"""Until then: how far two runs of the same code differ on a machine that is shared (share of the figure)."""
LEAST = 0.03
"""A smaller change is never called one, however alike the runs before it were."""
_SIGMAS = 3 * 1.4826
"""Three standard deviations, from a median absolute deviation of normal noise."""


@dataclass(frozen=True, slots=True)
class Change:
    """A figure beside what it was: ``noise`` is how far it may be off (share), ``verdict`` what to make of it."""

    what: str
    now: float
    before: float | None
    runs: int
    noise: float
    verdict: str


def read(path: Path) -> list[dict[str, Any]]:
    """Return the runs of a history, oldest first; none where there is no file."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def add(path: Path, figures: Sequence[Figure], at: datetime, code: str, machine: Mapping[str, Any]) -> None:
    """Add a run to a history."""
    path.parent.mkdir(parents=True, exist_ok=True)
    run = {"at": at.isoformat(timespec="seconds"), "code": code, "machine": dict(machine)}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({**run, "figures": [asdict(figure) for figure in figures]}) + "\n")


def compare(
    figures: Sequence[Figure], history: Sequence[Mapping[str, Any]], machine: Mapping[str, Any]
) -> list[Change]:
    """Compare figures with those of earlier runs on this machine."""
    alike = [run for run in history if run["machine"] == machine][-LOOKED_AT:]
    return [_change(figure, _values(figure.what, alike)) for figure in figures]


def _values(what: str, runs: Sequence[Mapping[str, Any]]) -> list[float]:
    return [float(one["value"]) for run in runs for one in run["figures"] if one["what"] == what]


def _change(figure: Figure, values: Sequence[float]) -> Change:
    if not values:
        return Change(figure.what, figure.value, None, 0, ASSUMED, "new")
    before = median(values)
    noise = _noise(values, before)
    off = figure.value - before
    if abs(off) <= noise * abs(before):
        verdict = "as before"
    elif figure.bar[:1] in "<>" and figure.bar:
        verdict = "better" if (off < 0) is (figure.bar[0] == "<") else "worse"
    else:
        verdict = "changed"
    return Change(figure.what, figure.value, before, len(values), noise, verdict)


def _noise(values: Sequence[float], middle: float) -> float:
    if len(values) < ENOUGH or not middle:
        return ASSUMED
    return max(LEAST, _SIGMAS * median(abs(value - middle) for value in values) / abs(middle))
