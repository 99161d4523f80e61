"""How a benchmark states what it saw: a figure, the baseline from the same run, and the bar where there is one."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass

import anyio
from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure. ``bar`` is in words, ``met`` None where there is no bar."""

    what: str
    value: float
    unit: str
    baseline: str = ""
    bar: str = ""
    met: bool | None = None


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value that ``share`` of ``values`` do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def median(values: Sequence[float]) -> float:
    """Return the median."""
    return statistics.median(values)


def show(figures: Sequence[Figure]) -> None:
    """Print figures as a table, or as JSON lines with ``--json``."""
    if "--json" in sys.argv:
        for figure in figures:
            sys.stdout.write(json.dumps(asdict(figure)) + "\n")
        return
    table = Table("what", "value", "baseline in the same run", "bar", "met")
    for figure in figures:
        met = {None: "", True: "yes", False: "NO"}[figure.met]
        table.add_row(figure.what, f"{figure.value:.4g} {figure.unit}", figure.baseline, figure.bar, met)
    Console(width=None if sys.stdout.isatty() else 160).print(table)


def report(measure: Callable[[], Awaitable[Sequence[Figure]]]) -> None:
    """Run a benchmark by itself and print its figures."""
    show(anyio.run(measure))
