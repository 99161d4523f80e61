"""Search over the bus, 10,000 chunks indexed, one client: how long it takes, against embedding the same query alone."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from recalld.bus import wire
from recalld.bus.client import RecallClient
from recalld.embed.factory import make_embedder
from recalld.embed.protocol import Embedder
from recalld.model import Mode
from recalld.settings import EmbedSettings, default_cache_dir
from tests.bench.corpora import DATA, peps
from tests.bench.figure import Figure, median, quantile, report
from tests.support.daemon import running
from tests.support.directories import short_directory
from tests.support.repos import WORDS, memo, on_disk
from tests.support.waiting import until_indexed

FILES = 10_000
PASSAGE = 80
"""Words in a file: one chunk."""
ROUNDS = 4
BAR = 5.0


async def measure() -> list[Figure]:
    """Ask the same questions of the bus and of the bare embedder, in turns."""
    questions = _questions()
    embedder = await make_embedder(EmbedSettings(), default_cache_dir())
    with tempfile.TemporaryDirectory() as name, short_directory() as directory:
        root = Path(name)
        _write(root)
        async with running(directory / "state", RECALLD_EMBED__MODEL="minilm") as daemon, daemon.client() as client:
            await client.repo_add(wire.RepoAddRequest(path=str(root), name="memory"))
            await until_indexed(client, "memory", on_disk(root), timeout=1_800)
            chunks = (await client.stats(wire.StatsRequest())).repos[0].chunks
            await _in_turns(client, embedder, questions, Mode.RERANK)
            figures = []
            for mode in Mode:
                asked: list[float] = []
                alone: list[float] = []
                for _ in range(ROUNDS):
                    over_bus, bare = await _in_turns(client, embedder, questions, mode)
                    asked += over_bus
                    alone += bare
                figures.append(_figure(mode, asked, alone, chunks))
            figures += await _stages(client, questions)
    await embedder.aclose()
    return figures


def _questions() -> list[str]:
    if (DATA / "peps").is_dir():
        return [question.text for question in peps().questions]
    rng = random.Random(3)
    return [f"why did the {a} of the {b} need a new {c}?" for a, b, c in (rng.sample(WORDS, 3) for _ in range(44))]


def _write(root: Path) -> None:
    """Write one passage of real prose a file, or a made-up memo where there is none."""
    documents = peps().documents if (DATA / "peps").is_dir() else {}
    words = [word for content in documents.values() for word in content.decode().split()]
    for number in range(FILES):
        path = root / f"d{number // 100:03d}" / f"m{number:05d}.md"
        path.parent.mkdir(exist_ok=True)
        start = number * PASSAGE
        text = " ".join(words[start : start + PASSAGE])
        path.write_text(f"# Note {number}\n\n{text}\n" if words else memo(number, words=PASSAGE))


async def _in_turns(
    client: RecallClient, embedder: Embedder, questions: Sequence[str], mode: Mode
) -> tuple[list[float], list[float]]:
    over_bus, alone = [], []
    for question in questions:
        begun = time.perf_counter()
        await client.search(wire.SearchRequest(query=question, mode=mode))
        over_bus.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        await embedder.embed_query(question)
        alone.append(time.perf_counter() - begun)
    return over_bus, alone


def _figure(mode: Mode, asked: Sequence[float], alone: Sequence[float], chunks: int) -> Figure:
    ratio = median(asked) / median(alone)
    baseline = (
        f"p50 {median(asked) * 1e3:.1f} ms, p99 {quantile(asked, 0.99) * 1e3:.1f} ms; embedding alone "
        f"{median(alone) * 1e3:.1f} ms; {chunks} chunks, {len(asked)} searches"
    )
    what = f"search over the bus, {mode}: times embedding the query alone, p50"
    bar = mode is Mode.RERANK
    return Figure(what, ratio, "x", baseline, f"<= {BAR:g}" if bar else "", ratio <= BAR if bar else None)


async def _stages(client: RecallClient, questions: Sequence[str]) -> list[Figure]:
    """Tell where the time of a search in rerank mode goes. Stages overlap where they run at once."""
    times: dict[str, list[float]] = {}
    for question in questions:
        reply = await client.search(wire.SearchRequest(query=question, mode=Mode.RERANK, trace=True))
        for stage in reply.trace or ():
            times.setdefault(stage.stage, []).append(stage.took_ms)
        times.setdefault("whole, in the daemon", []).append(reply.took_ms)
    return [Figure(f"search, rerank: {stage}, p50", median(took), "ms") for stage, took in times.items()]


if __name__ == "__main__":
    report(measure)
