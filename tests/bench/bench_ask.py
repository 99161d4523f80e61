"""Answers from memory: how fast among 10,000 remembered, exact and in other words, and whether one is ever stale.

The baselines are of the same run: embedding the question alone, in this process, and the same questions derived anew
by the daemon with an answerer's 200 ms on top (a language model takes that at least).
"""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import anyio
import asyncpg

from recalld.bus.client import RecallClient
from recalld.embed.factory import make_embedder
from recalld.embed.protocol import Embedder
from recalld.embedded.postgres import EmbeddedPostgres
from recalld.episodes.gate import Asked
from recalld.settings import EmbedSettings, default_cache_dir
from recalld.store import Store
from tests.bench.figure import Figure, median, quantile, report
from tests.support.daemon import running
from tests.support.directories import short_directory
from tests.support.episodes import keep_model
from tests.support.interleavings import Limits
from tests.support.repos import on_disk, write_memos
from tests.support.waiting import until_indexed

EPISODES = 10_000
MEMOS = 2_000
ASKED = 200
DERIVED = 60
ANSWERER_S = 0.2
EMBEDDING_BAR, DERIVING_BAR = 6.0, 10.0
TURNS = 1_000
BATCH = 256
SERVED_BAR = 0.1
COUNTED_S = 180.0
THINGS = (
    "upload", "session", "berth", "invoice", "webhook", "search", "export", "login", "payment", "ferry", "crane",
    "tariff", "pilot", "anchor",
)  # fmt: skip
KINDS = (
    "size", "rate", "age", "retry", "batch", "timeout", "memory", "queue", "thread", "row", "depth", "weight", "price",
    "cache", "page", "length",
)  # fmt: skip
SIDES = ("north", "south", "east", "west", "inner", "outer", "old", "new")
PLACES = tuple(
    f"{side} {place}" for side in SIDES for place in ("harbour", "terminal", "quay", "dock", "office", "depot")
)


async def measure() -> list[Figure]:
    """Fill a memory with questions, ask for some of them again, and walk through edits."""
    return [*await _speed(), await _edits()]


async def _speed() -> list[Figure]:
    async with AsyncExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        base = stack.enter_context(short_directory())
        server = await stack.enter_async_context(await EmbeddedPostgres.start(base / "store"))
        write_memos(root, range(MEMOS), words=40)
        facts = _facts()
        for number, (thing, kind, place) in enumerate(facts[:DERIVED]):
            (root / f"fact{number}.md").write_text(f"# Facts\n\nThe {thing} {kind} limit of the {place} is {number}.\n")
        daemon = await stack.enter_async_context(
            running(base / "state", RECALLD_EMBED__MODEL="minilm", RECALLD_STORE__DSN=server.dsn)
        )
        client = await stack.enter_async_context(daemon.client("a"))
        await client.repo_add(str(root), name="memory")
        await until_indexed(client, "memory", on_disk(root), timeout=900)
        store = await Store.open(server.dsn)
        stack.push_async_callback(store.aclose)
        embedder = await make_embedder(EmbedSettings(), default_cache_dir())
        await _filled(client, store, embedder, facts)
        await _counted(server.dsn)
        return await _timed(client, embedder, facts)


def _facts() -> list[tuple[str, str, str]]:
    """Return things that may be asked for, in an order in which neighbours differ."""
    every = list(itertools.product(THINGS, KINDS, PLACES))
    return [every[at * 7_919 % len(every)] for at in range(EPISODES)]


def _question(fact: tuple[str, str, str]) -> str:
    thing, kind, place = fact
    return f"What is the {thing} {kind} limit of the {place}?"


def _in_other_words(fact: tuple[str, str, str]) -> str:
    thing, kind, place = fact
    return f"which {kind} limit does the {place} have for {thing}"


async def _filled(
    client: RecallClient, store: Store, embedder: Embedder, facts: Sequence[tuple[str, str, str]]
) -> None:
    """Have a few questions answered by the daemon, and remember all others after their likeness."""
    answered = []
    for fact in facts[:DERIVED]:
        id_ = (await client.ask(_question(fact), receipt=False)).episode
        assert id_ is not None
        answered.append(await store.episodes.get(int(id_)))
    await keep_model(store)
    questions = [_question(fact) for fact in facts[DERIVED:]]
    for start in range(0, len(questions), BATCH):
        batch = questions[start : start + BATCH]
        for number, (text, vectors) in enumerate(zip(batch, await embedder.embed_documents(batch), strict=True)):
            like = answered[number % len(answered)]
            assert like is not None
            asked = Asked(text)
            await store.episodes.remember(
                replace(like, question=text, normal=asked.normal, gist=asked.gist, vector=vectors.pooled)
            )


async def _counted(dsn: str) -> None:
    """Wait until Postgres has counted what came, as it does by itself soon after: plans are made for that."""
    connection = await asyncpg.connect(dsn)
    try:
        with anyio.fail_after(COUNTED_S):
            while await connection.fetchval(_UNCOUNTED) > 0.2 * EPISODES:  # noqa: ASYNC110 - Postgres tells nobody
                await anyio.sleep(1.0)
    finally:
        await connection.close()


_UNCOUNTED = "SELECT n_mod_since_analyze FROM pg_stat_user_tables WHERE relname = 'episode'"


async def _timed(client: RecallClient, embedder: Embedder, facts: Sequence[tuple[str, str, str]]) -> list[Figure]:
    picked = facts[:: len(facts) // ASKED][:ASKED]

    async def from_memory(text: str) -> None:
        reply = await client.ask(text)
        assert reply.source == "memory", (text, [(one.step, one.note) for one in reply.path])

    async def embedded(text: str) -> None:
        await embedder.embed_query(text)

    async def derived(text: str) -> None:
        reply = await client.ask(text, fresh=True)
        assert reply.source != "memory"
        await anyio.sleep(ANSWERER_S)

    exact_, near_ = [_question(fact) for fact in picked], [_in_other_words(fact) for fact in picked]
    embedding = await _times(embedded, near_)
    exact = await _times(from_memory, exact_)
    near = await _times(from_memory, near_)
    deriving = await _times(derived, near_[:DERIVED])
    return [
        figure
        for what, times in (("exact", exact), ("near", near))
        for figure in _figures(what, times, embedding, deriving)
    ]


def _figures(what: str, times: Sequence[float], embedding: Sequence[float], deriving: Sequence[float]) -> list[Figure]:
    took, alone, anew = median(times), median(embedding), median(deriving)
    said = f"p99 {quantile(times, 0.99):.1f} ms; {EPISODES:,} episodes of one key, {MEMOS:,} memos"
    return [
        Figure(f"ask, from memory, {what}, p50", took, "ms", said),
        Figure(f"ask, from memory, {what}, as a multiple of embedding alone", took / alone, "x",
               f"embedding the question {alone:.2f} ms", f"<= {EMBEDDING_BAR:g}", took / alone <= EMBEDDING_BAR),
        Figure(f"ask, from memory, {what}, faster than deriving", anew / took, "x",
               f"derived anew with an answerer of {ANSWERER_S * 1e3:.0f} ms: {anew:.0f} ms", f">= {DERIVING_BAR:g}",
               anew / took >= DERIVING_BAR),
    ]  # fmt: skip


async def _times(act: Callable[[str], Awaitable[None]], texts: Sequence[str]) -> list[float]:
    """Return what each took (ms), once warm."""
    for text in texts[:5]:
        await act(text)
    times = []
    for text in texts:
        begun = time.perf_counter()
        await act(text)
        times.append((time.perf_counter() - begun) * 1e3)
    return times


async def _edits() -> Figure:
    """Edit, delete and restore files, asking at once; return how many answers had what was no longer on disk."""
    with tempfile.TemporaryDirectory() as name, short_directory() as directory:
        root = Path(name)
        limits = Limits(root, seed=17)
        async with running(directory / "state", RECALLD_EMBED__MODEL="minilm") as daemon, daemon.client("a") as client:
            await client.repo_add(str(root), name="memory")
            await until_indexed(client, "memory", on_disk(root))
            seen = await limits.walk(client.ask, TURNS)
    said = f"{seen.from_memory} of {seen.asked} from memory, {seen.right} of {seen.there} right where there is a file"
    met = not seen.stale and seen.from_memory >= SERVED_BAR * seen.asked
    return Figure("ask: stale answers among edits, deletions and restores", len(seen.stale), "", said, "0", met)


if __name__ == "__main__":
    report(measure)
