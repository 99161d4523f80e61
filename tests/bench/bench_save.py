"""Save to recallable: from the write of a 2 KB file until a search over the bus returns it, 10,000 chunks indexed."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import anyio

from recalld.bus import wire
from recalld.bus.client import RecallClient
from tests.bench.figure import Figure, median, quantile, report
from tests.support.daemon import running
from tests.support.directories import short_directory
from tests.support.repos import memo, on_disk, write_memos
from tests.support.waiting import until_indexed

CHUNKS = 10_000
SAVES = 200
WORDS = 300
"""A memo of so many words is 2 KB."""


async def measure() -> list[Figure]:
    """Save files one after another, as an editor would, with the packaged model."""
    with tempfile.TemporaryDirectory() as name, short_directory() as directory:
        root = Path(name)
        write_memos(root, range(CHUNKS), words=40)
        async with running(directory / "state", RECALLD_EMBED__MODEL="minilm") as daemon, daemon.client() as client:
            await client.repo_add(wire.RepoAddRequest(path=str(root), name="memory"))
            await until_indexed(client, "memory", on_disk(root), timeout=900)
            chunks = (await client.stats(wire.StatsRequest())).repos[0].chunks
            times = [await _save(client, root, number) for number in range(SAVES)]
    p50, p99 = median(times) * 1e3, quantile(times, 0.99) * 1e3
    where = f"{SAVES} saves, {chunks} chunks"
    return [
        Figure("save to recallable, p50", p50, "ms", where, "<= 250 ms", p50 <= 250),
        Figure("save to recallable, p99", p99, "ms", where, "<= 1000 ms", p99 <= 1_000),
    ]


async def _save(client: RecallClient, root: Path, number: int) -> float:
    """Return the seconds until a new file is the first hit of a search for it."""
    text = memo(1_000_000 + number, words=WORDS)
    marker = f"marker-{1_000_000 + number}-v0"
    path = root / f"saved{number:04d}.md"
    begun = time.perf_counter()
    path.write_text(text)
    with anyio.fail_after(10):
        while True:
            reply = await client.search(wire.SearchRequest(query=f"what says {marker}?", k=8))
            if any(hit.path == path.name for hit in reply.hits):
                return time.perf_counter() - begun


if __name__ == "__main__":
    report(measure)
