"""The history of benchmarks: change is told from noise by how earlier runs differ."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.bench.figure import Figure
from tests.bench.history import add, compare, read

HERE, ELSEWHERE = {"cores": 2}, {"cores": 8}
AT = datetime(2026, 3, 4, tzinfo=UTC)


def figure(value: float, bar: str = "<= 5") -> Figure:
    return Figure("search", value, "x", bar=bar)


def history(path: Path, *values: float, machine: dict[str, int] = HERE) -> Path:
    for value in values:
        add(path, [figure(value)], AT, "abc", machine)
    return path


@pytest.mark.parametrize(
    ("before", "now", "bar", "verdict"),
    [
        ((), 4.0, "<= 5", "new"),
        ((4.0,), 4.5, "<= 5", "as before"),  # one run says nothing of noise: 15 % is assumed
        ((4.0,), 4.8, "<= 5", "worse"),
        ((4.0, 4.01, 3.99, 4.0, 4.02), 4.2, "<= 5", "worse"),  # steady runs: 5 % is a change
        ((4.0, 4.01, 3.99, 4.0, 4.02), 4.05, "<= 5", "as before"),
        ((3.0, 5.0, 4.0, 4.5, 3.5), 5.5, "<= 5", "as before"),  # restless runs: it takes more
        ((4.0, 4.01, 3.99, 4.0, 4.02), 3.0, "<= 5", "better"),
        ((0.8, 0.8, 0.8, 0.8), 0.7, ">= 0.75", "worse"),
        ((0.8, 0.8, 0.8, 0.8), 0.9, ">= 0.75", "better"),
        ((4.0,), 8.0, "", "changed"),
    ],
)
def test_change_is_told_from_noise(
    tmp_path: Path, before: tuple[float, ...], now: float, bar: str, verdict: str
) -> None:
    known = read(history(tmp_path / "history.jsonl", *before))
    [change] = compare([figure(now, bar)], known, HERE)
    assert (change.verdict, change.runs) == (verdict, len(before))


def test_another_machine_says_nothing(tmp_path: Path) -> None:
    known = read(history(tmp_path / "history.jsonl", 1.0, 1.0, machine=ELSEWHERE))
    [change] = compare([figure(4.0)], known, HERE)
    assert (change.verdict, change.before) == ("new", None)


def test_what_is_long_ago_is_forgotten(tmp_path: Path) -> None:
    known = read(history(tmp_path / "history.jsonl", *[1.0] * 20, *[4.0] * 10))
    [change] = compare([figure(4.0)], known, HERE)
    assert (change.before, change.verdict) == (4.0, "as before")
