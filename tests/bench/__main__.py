"""Every figure with its baseline from the same run: ``python -m tests.bench [name ...]``.

Each benchmark runs in a process of its own, one after another, so that none measures the memory or the heat of
another. Exit status 1 when a benchmark fails to run; a bar that is missed is said, not hidden, and is no failure. Runs
are kept in ``.bench/history.jsonl``, and what changed against the last ones on the same machine is told.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from recalld.evaluate import manifest
from tests.bench import history
from tests.bench.figure import Figure, show

HERE = Path(__file__).parent
HISTORY = Path(".bench/history.jsonl")
MACHINE = ("processor", "cores", "memory_bytes")
"""What makes figures comparable; another Python or library is a change that one wants to see."""


def main() -> int:
    """Run the named benchmarks, or all, and print one table."""
    files = {path.stem.removeprefix("bench_"): path for path in sorted(HERE.glob("bench_*.py"))}
    figures: list[Figure] = []
    failed = []
    for name in _asked(files).names or files:
        sys.stderr.write(f"{name} ...\n")
        run = subprocess.run(
            [sys.executable, "-m", f"tests.bench.bench_{name}", "--json"],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        if run.returncode:
            failed.append(name)
            continue
        figures += [Figure(**json.loads(line)) for line in run.stdout.splitlines() if line.startswith("{")]
    show(figures)
    _remember(figures)
    if failed:
        sys.stderr.write(f"failed to run: {', '.join(failed)}\n")
    return 1 if failed else 0


def _remember(figures: Sequence[Figure]) -> None:
    """Tell what changed since the last runs on this machine, and add this one to them."""
    machine = {key: value for key, value in manifest.machine().items() if key in MACHINE}
    changes = history.compare(figures, history.read(HISTORY), machine)
    for change in changes:
        if change.before is not None and change.verdict != "as before":
            sys.stderr.write(
                f"{change.verdict}: {change.what}: {change.before:.4g}, now {change.now:.4g}"
                f" ({change.runs} runs before, noise {change.noise:.0%})\n"
            )
    known = sum(change.before is not None for change in changes)
    sys.stderr.write(f"{known} of {len(changes)} figures compared with runs before this one, in {HISTORY}\n")
    if figures:
        history.add(HISTORY, figures, datetime.now(UTC), manifest.commit(), machine)


def _asked(files: Mapping[str, Path]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description="Measure, against a baseline in the same run. All benchmarks without a name: about an hour.",
        epilog="\n".join(f"{name:10}{_title(path)}" for name, path in files.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="name", help="a benchmark of the list below")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    asked = parser.parse_args()
    unknown = sorted(set(asked.names) - files.keys())
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(files)}")
    return asked


def _title(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text())) or "").splitlines()[0]


if __name__ == "__main__":
    sys.exit(main())
