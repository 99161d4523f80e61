"""Receipts: from the save of a file that supersedes another until the agent that relied on the old one hears of it."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import anyio

from recalld.bus.client import RecallClient
from tests.bench.figure import Figure, median, quantile, report
from tests.support.daemon import running
from tests.support.directories import short_directory
from tests.support.repos import on_disk, write_memos
from tests.support.waiting import until_indexed

MEMOS = 2_000
REVERSALS = 60
BAR_MS = 500


async def measure() -> list[Figure]:
    """Reverse one decision after another; each is asked about first, and each is heard of over the bus."""
    with tempfile.TemporaryDirectory() as name, short_directory() as directory:
        root = Path(name)
        write_memos(root, range(MEMOS), words=40)
        for number in range(REVERSALS):
            (root / f"old{number}.md").write_text(f"# Decision {number}\n\nmarker-{number}-old is how we do it.\n")
        async with running(directory / "state", RECALLD_EMBED__MODEL="minilm") as daemon, daemon.client("a") as client:
            await client.repo_add(str(root), name="memory")
            await until_indexed(client, "memory", on_disk(root), timeout=900)
            heard, recalled = [], []
            for number in range(REVERSALS):
                await client.search(f"what says marker-{number}-old?", k=1)
                heard.append(await _heard(client, root, number))
                recalled.append(await _recalled(client, root, number))
    p50, p99 = median(heard) * 1e3, quantile(heard, 0.99) * 1e3
    baseline = f"p99 {p99:.0f} ms; save to recallable p50 {median(recalled) * 1e3:.0f} ms; {REVERSALS} saves of each"
    return [Figure("receipt: save to event at the agent, p50", p50, "ms", baseline, f"<= {BAR_MS}", p50 <= BAR_MS)]


async def _heard(client: RecallClient, root: Path, number: int) -> float:
    async with client.follow("invalidated.a") as events:
        begun = time.perf_counter()
        (root / f"new{number}.md").write_text(f"---\nsupersedes: old{number}\n---\n# New {number}\n\nAnother way.\n")
        with anyio.fail_after(10):
            while (await anext(events)).data["path"] != f"old{number}.md":
                pass
            return time.perf_counter() - begun


async def _recalled(client: RecallClient, root: Path, number: int) -> float:
    """Return how long a save takes until it is recallable, beside."""
    begun = time.perf_counter()
    (root / f"beside{number}.md").write_text(f"# Beside {number}\n\nmarker-{number}-beside says nothing.\n")
    with anyio.fail_after(10):
        while True:
            reply = await client.search(f"marker-{number}-beside", k=3)
            if any(hit.path == f"beside{number}.md" for hit in reply.hits):
                return time.perf_counter() - begun


if __name__ == "__main__":
    report(measure)
