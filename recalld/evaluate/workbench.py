"""A workbench: an index of a corpus in a Postgres of its own, made by the real worker, to measure retrieval on.

It stands apart from every daemon's index and is kept in the cache directory: the same corpus, indexed the same way,
is there at once the next time. What was used longest ago is dropped.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from recalld.analyze import Analyzer
from recalld.embed.protocol import Embedder
from recalld.embed.registry import Embedders, GenerationEmbedder
from recalld.embedded.postgres import EmbeddedPostgres
from recalld.embedded.state import StateDirectory
from recalld.errors import CalibrationRefused
from recalld.evaluate.corpus import REPO, Corpus
from recalld.ingest.chunk_policy import ChunkPolicy
from recalld.ingest.generations import Generations, fingerprint
from recalld.ingest.worker import IndexWorker
from recalld.jobs.calibration import Calibrator
from recalld.model import Generation, Position, Repo
from recalld.recall.answer import Answering
from recalld.recall.rerank import Reranker
from recalld.recall.retrieve import Retriever
from recalld.settings import RecallSettings, TrustSettings
from recalld.store import Store
from recalld.store.migrate import known, migrate
from recalld.store.scratch import Scratch
from recalld.trust.confidence import Calibration, confidences

KEPT = 8
"""Indexes that are kept."""
BATCH = 32
NOT_ASKED = "no condition needs it"
PREFIX = "workbench_"
_UNHURRIED = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
"""Nothing here has to survive a power cut: an index that was not finished is made again."""

Progress = Callable[[str, int, int], None]
"""Is told what is done, how far it is, and of how many."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """What a calibration is made with: it is made anew when any of these changes."""

    recall: RecallSettings
    trust: TrustSettings
    seed: int

    @property
    def digest(self) -> str:
        """A name for these."""
        plain = f"{self.recall.model_dump_json()} {self.trust.model_dump_json()} {self.seed}"
        return hashlib.sha256(plain.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Cost:
    """What an index took to make and takes to keep."""

    index_s: float
    documents: int
    chunks: int
    tokens: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Bench:
    """An index of one corpus, ready to be asked. ``calibration`` is None where too little can be asked of it."""

    store: Store
    embedders: Embedders
    generation: Generation
    calibration: Calibration | None
    uncalibrated: str
    """Why there is no calibration; empty where there is one."""
    has_tokens: bool
    """Whether the embedder has token vectors, which late interaction needs."""
    cost: Cost

    def retriever(self, settings: RecallSettings, reranker: Reranker | None = None) -> Retriever:
        """Return what retrieves from it, made as the daemon makes it."""
        embedder = GenerationEmbedder(self.embedders, self.generation)
        return Retriever(self.store, embedder, Analyzer(), settings, reranker)

    def answering(self, retriever: Retriever) -> Answering:
        """Return what answers from it: verdicts, successors, and calibrated confidence."""
        return Answering(retriever, self.store.standings, partial(confidences, self.calibration))


@dataclass(frozen=True, slots=True)
class Workbench:
    """The Postgres that indexes are made in. Open with :func:`workbench`."""

    scratch: Scratch
    cache: Path
    """Where models are kept."""
    progress: Progress

    @asynccontextmanager
    async def index(
        self, corpus: Corpus, embedder: Embedder, policy: ChunkPolicy, tuning: Tuning | None
    ) -> AsyncIterator[Bench]:
        """Open the index of a corpus, making it where it is not there, and calibrated where there is a tuning.

        The embedder stays the caller's. Raises what the worker meets on a document, DependencyError when Postgres or
        the embedder fail.
        """
        name = _name(corpus, embedder, policy)
        facts = (await self.scratch.all()).get(name, {})
        if not facts:
            await self.scratch.create(name)
        dsn = self.scratch.dsn(name)
        await migrate(dsn)
        store = await Store.open(dsn)
        try:
            embedders = Embedders(partial(_given, embedder), embedder.name)
            await embedders.load()
            generations = Generations(store, embedders, policy, _unheard)
            generation = await generations.ensure()
            if not facts:
                facts = {"index_s": await self._fill(store, generations, corpus)}
            uncalibrated = NOT_ASKED
            if tuning is not None:
                known = facts.get("calibrated") == tuning.digest
                uncalibrated = "" if known else await self._calibrate(store, embedders, generation, tuning)
                facts = {**facts, "calibrated": "" if uncalibrated else tuning.digest}
            facts = {**facts, "used": time.time()}
            await self.scratch.note(name, facts)
            await self._drop_oldest()
            calibration = None if uncalibrated else await _calibration(store, generation)
            cost = await self._cost(store, generation, name, facts)
            has_tokens = (await embedder.embed_query("what?")).tokens is not None
            yield Bench(store, embedders, generation, calibration, uncalibrated, has_tokens, cost)
        finally:
            await store.aclose()

    async def _fill(self, store: Store, generations: Generations, corpus: Corpus) -> float:
        begun = time.perf_counter()
        at = datetime.now(UTC)
        await store.repos.add(Repo(REPO, "/", "workbench"), by="evaluate", at=at)
        worker = IndexWorker(store, generations.targets, generations.policy, _unheard, lambda: at)
        paths = list(corpus.files)
        for start in range(0, len(paths), BATCH):
            self.progress("indexing", start, len(paths))
            batch = paths[start : start + BATCH]
            snapshots = [(corpus.snapshot(path), Position(1, start + n)) for n, path in enumerate(batch, start=1)]
            for failure in await worker.index(snapshots):
                if failure is not None:
                    raise failure
        self.progress("indexing", len(paths), len(paths))
        return time.perf_counter() - begun

    async def _calibrate(self, store: Store, embedders: Embedders, generation: Generation, tuning: Tuning) -> str:
        """Calibrate without labels; return why it could not be."""
        self.progress("calibrating", 0, 1)
        calibrator = Calibrator(
            store,
            lambda _: Retriever(store, GenerationEmbedder(embedders, generation), Analyzer(), tuning.recall),
            _none_pending,
            _unheard,
            tuning.trust,
            lambda: datetime.now(UTC),
            random.Random(tuning.seed),
        )
        try:
            await calibrator.calibrate()
        except CalibrationRefused as error:
            return error.message
        self.progress("calibrating", 1, 1)
        return ""

    async def _cost(self, store: Store, generation: Generation, name: str, facts: Mapping[str, Any]) -> Cost:
        chunks = await store.chunks.all_of(generation.id)
        documents = len({chunk.path for chunk in chunks})
        tokens = sum(chunk.tokens for chunk in chunks)
        return Cost(facts["index_s"], documents, len(chunks), tokens, await self.scratch.size(name))

    async def _drop_oldest(self) -> None:
        held = await self.scratch.all()
        for name in sorted(held, key=lambda name: -held[name].get("used", 0.0))[KEPT:]:
            await self.scratch.drop(name)


@asynccontextmanager
async def workbench(cache: Path, progress: Progress) -> AsyncIterator[Workbench]:
    """Start the workbench's Postgres below a cache directory. Raises StateHeldError while another evaluation runs."""
    with StateDirectory.acquire(cache / "workbench") as state:
        async with await EmbeddedPostgres.start(state.path, settings=_UNHURRIED) as server:
            yield Workbench(Scratch(server.dsn, PREFIX), cache, progress)


def _name(corpus: Corpus, embedder: Embedder, policy: ChunkPolicy) -> str:
    """Return a name that changes with whatever changes the index."""
    parts = (corpus.digest, fingerprint(policy, embedder), known()[-1].checksum)
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:24]


async def _calibration(store: Store, generation: Generation) -> Calibration | None:
    row = await store.calibrations.newest(generation.id)
    return None if row is None else Calibration.from_json(row.model, generation.fingerprint)


async def _given(embedder: Embedder, _: str) -> Embedder:
    return embedder


async def _none_pending() -> int:
    return 0


async def _unheard(_: str, __: Mapping[str, Any]) -> None:
    return
