"""Lint of 1,873 notes, as the command does it, with reading the same bytes alone beside it."""

from __future__ import annotations

import subprocess
import sys
import time

from tests.bench.corpora import DATA
from tests.bench.figure import Figure, median, report

RUNS = 5
BAR_S = 3.0
FOLDER = DATA / "mem-til"


async def measure() -> list[Figure]:
    """Run ``recall lint`` and a plain read in turns, each in a process of its own."""
    if not FOLDER.is_dir():
        sys.stderr.write(f"skipped: {FOLDER} is not here\n")
        return []
    lint = [sys.executable, "-c", "from recalld.cli import recall; recall()", "lint", str(FOLDER), "--json"]
    plain = "import pathlib, sys; [p.read_bytes() for p in pathlib.Path(sys.argv[1]).rglob('*') if p.is_file()]"
    linted, read = [], []
    for _ in range(RUNS):
        linted.append(_timed(lint))
        read.append(_timed([sys.executable, "-c", plain, str(FOLDER)]))
    files = sum(path.is_file() for path in FOLDER.rglob("*.md"))
    took = median(linted)
    baseline = f"median of {RUNS}; reading the files alone {median(read):.2f} s; {files} notes"
    return [Figure("lint of mem-til, the whole command", took, "s", baseline, f"<= {BAR_S:g}", took <= BAR_S)]


def _timed(command: list[str]) -> float:
    begun = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begun


if __name__ == "__main__":
    report(measure)
