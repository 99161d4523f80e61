"""Two runs side by side: the same tasks, before and after, and what else is not the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from recalld.errors import UsageError
from recalld.evaluate.metrics.sampling import Difference, difference
from recalld.evaluate.records import Record

_METRICS = ("right", "decision", "false abstain", "false confident", "stale served")
_RANKED = ("MRR", "nDCG@10")


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of one condition, over the tasks that both runs have a value for."""

    condition: str
    metric: str
    before: float
    after: float
    difference: Difference


@dataclass(frozen=True, slots=True)
class Compared:
    """What changed. ``setups`` names what the runs were made of differently, ``lost`` the tasks that went wrong."""

    setups: Sequence[str]
    rows: Sequence[Row]
    lost: Mapping[str, Sequence[str]]

    def plain(self) -> dict[str, Any]:
        """Return this as plain JSON."""
        return asdict(self)


def compare(before: Record, after: Record, seed: int) -> Compared:
    """Compare two runs. Raises UsageError where they have no task or no condition in common."""
    rows: list[Row] = []
    lost: dict[str, list[str]] = {}
    for name in [name for name in before.cases if name in after.cases]:
        old, new = before.cases[name], after.cases[name]
        common = [task for task in old if task in new]
        lost[name] = [task for task in common if old[task]["right"] and not new[task]["right"]]
        rows += _rows(name, [(old[task], new[task]) for task in common], seed)
    if not rows:
        raise UsageError(f"{before.folder} and {after.folder} have no task and condition in common")
    return Compared(list(_setups(before.manifest, after.manifest)), rows, lost)


def _rows(name: str, pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]], seed: int) -> Iterator[Row]:
    for part, metrics in (("ranked", _RANKED), ("answered", _METRICS)):
        for metric in metrics:
            both = [(a[part][metric], b[part][metric]) for a, b in pairs if metric in a[part] and metric in b[part]]
            if both:
                old, new = [a for a, _ in both], [b for _, b in both]
                yield Row(name, metric, sum(old) / len(old), sum(new) / len(new), difference(new, old, seed))


def _setups(before: Any, after: Any, place: str = "") -> Iterator[str]:
    """Yield what two manifests say differently, but for when they were made and what it took."""
    for key in sorted(before.keys() | after.keys()):
        if not place and key in ("at", "index", "calibration"):
            continue
        where, old, new = f"{place}{key}", before.get(key), after.get(key)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _setups(old, new, f"{where}.")
        elif old != new:
            yield f"{where}: {_short(old)}, then {_short(new)}"


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
