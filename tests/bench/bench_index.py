"""Bulk indexing through the whole house against the bare runtime on the same chunks; what the daemon then weighs."""

from __future__ import annotations

import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import anyio
import psutil

from recalld.bus import wire
from recalld.bus.client import RecallClient
from recalld.embed.factory import make_embedder
from recalld.ingest.chunk_policy import ChunkPolicy
from recalld.ingest.parse import parse
from recalld.settings import EmbedSettings, IngestSettings, default_cache_dir
from tests.bench.corpora import DATA
from tests.bench.figure import Figure, report
from tests.support.daemon import running
from tests.support.directories import short_directory
from tests.support.repos import on_disk, write_memos
from tests.support.waiting import until_indexed

RSS_CHUNKS = 20_000


async def measure() -> list[Figure]:
    """Index ``mem-til``, fill up to 20,000 chunks and ask some questions; the bare runtime goes before and after."""
    if not (DATA / "mem-til").is_dir():
        return []
    before, chunks = await _bare(DATA / "mem-til")
    with tempfile.TemporaryDirectory() as name, short_directory() as directory:
        async with running(directory / "state", RECALLD_EMBED__MODEL="minilm") as daemon, daemon.client() as client:
            await client.search(wire.SearchRequest(query="warm up"))
            begun = datetime.now(UTC)
            await client.repo_add(wire.RepoAddRequest(path=str(DATA / "mem-til"), name="til"))
            indexed, ended = await _until_settled(client, "til")
            whole = indexed / (ended - begun).total_seconds()
            write_memos(Path(name), range(RSS_CHUNKS - chunks), words=40)
            await client.repo_add(wire.RepoAddRequest(path=name, name="more"))
            await until_indexed(client, "more", on_disk(Path(name)), timeout=900)
            for number in range(50):
                await client.search(wire.SearchRequest(query=f"how do I list files number {number}?"))
            held = sum(row.chunks for row in (await client.stats(wire.StatsRequest())).repos)
            rss = psutil.Process(daemon.pid).memory_info().rss / 2**20
    after, _ = await _bare(DATA / "mem-til")
    bare = (before + after) / 2
    share = whole / bare
    return [
        Figure(
            f"bulk index of mem-til ({chunks} chunks), share of the bare runtime",
            share,
            "x",
            f"bare {before:.0f} before and {after:.0f} chunks/s after, through the house {whole:.0f} chunks/s",
            ">= 0.85",
            share >= 0.85,
        ),
        Figure(f"daemon RSS at {held} chunks", rss, "MB", "", "<= 600 MB", rss <= 600),
    ]


async def _bare(root: Path) -> tuple[float, int]:
    """Return the chunks per second of the runtime alone on this repo's chunks, and how many there are."""
    ingest = IngestSettings()
    policy = ChunkPolicy(ingest.policy, ingest.chunk_tokens, ingest.overlap_tokens)
    embedder = await make_embedder(EmbedSettings(), default_cache_dir())
    try:
        texts = [
            chunk.embed_text
            for path in sorted(root.rglob("*"))
            if path.is_file() and not path.name.startswith(".")
            for chunk in parse(
                path.relative_to(root).as_posix(),
                path.read_bytes(),
                policy,
                embedder.count_tokens,
                embedder.token_limit,
            ).chunks
        ]
        await embedder.embed_documents(texts[:64])
        begun = time.perf_counter()
        await embedder.embed_documents(texts)
        return len(texts) / (time.perf_counter() - begun), len(texts)
    finally:
        await embedder.aclose()


async def _until_settled(client: RecallClient, repo: str) -> tuple[int, datetime]:
    """Wait until the first scan is done and nothing is pending; return the chunks held, and when the last came."""
    with anyio.fail_after(600):
        while True:
            stats = await client.stats(wire.StatsRequest(repo=repo))
            newest = stats.freshness.newest_indexed_at
            if newest and stats.repos[0].last_scan_at and not stats.freshness.pending:
                return stats.repos[0].chunks, newest
            await anyio.sleep(1)


if __name__ == "__main__":
    report(measure)
