"""Every figure with its baseline from the same run: ``python -m tests.bench [name ...]``.

Each benchmark runs in a process of its own, one after another, so that none measures the memory or the heat of
another. Exit status 1 when a benchmark fails to run; a bar that is missed is said, not hidden, and is no failure.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.bench.figure import Figure, show

HERE = Path(__file__).parent


def main() -> int:
    """Run the named benchmarks, or all, and print one table."""
    wanted = [name for name in sys.argv[1:] if not name.startswith("-")]
    names = [path.stem for path in sorted(HERE.glob("bench_*.py"))]
    unknown = {name for name in wanted if f"bench_{name}" not in names}
    if unknown:
        sys.stderr.write(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(names)}\n")
        return 2
    figures: list[Figure] = []
    failed = []
    for name in names:
        if wanted and name.removeprefix("bench_") not in wanted:
            continue
        sys.stderr.write(f"{name} ...\n")
        run = subprocess.run(
            [sys.executable, "-m", f"tests.bench.{name}", "--json"], stdout=subprocess.PIPE, text=True, check=False
        )
        if run.returncode:
            failed.append(name)
            continue
        figures += [Figure(**json.loads(line)) for line in run.stdout.splitlines() if line.startswith("{")]
    show(figures)
    if failed:
        sys.stderr.write(f"failed to run: {', '.join(failed)}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
