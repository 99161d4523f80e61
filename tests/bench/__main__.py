"""Every figure with its baseline from the same run: ``python -m tests.bench [name ...]``.

Each benchmark runs in a process of its own, one after another, so that none measures the memory or the heat of
another. Exit status 1 when a benchmark fails to run; a bar that is missed is said, not hidden, and is no failure.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.bench.figure import Figure, show

HERE = Path(__file__).parent


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
    if failed:
        sys.stderr.write(f"failed to run: {', '.join(failed)}\n")
    return 1 if failed else 0


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
