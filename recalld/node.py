"""What the roles of one process share: the embedders, the generations, the retrievers, and how all of it fares."""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence
from datetime import datetime
from functools import partial

import anyio
from anyio import to_thread

from recalld.analyze import Analyzer
from recalld.bus import wire
from recalld.bus.streams import IngestStream
from recalld.embed.factory import make_embedder
from recalld.embed.protocol import Embedder
from recalld.embed.registry import Embedders, GenerationEmbedder
from recalld.errors import RecalldError
from recalld.foundation import Foundation, needs_store, now
from recalld.ingest.chunk_policy import ChunkPolicy
from recalld.ingest.generations import Generations
from recalld.jobs.calibration import Calibrator, Step
from recalld.judges import make_gate, make_reranker
from recalld.model import Generation
from recalld.recall.answer import Answering
from recalld.recall.entailment import Gate
from recalld.recall.receipts import Receipts
from recalld.recall.rerank import Reranker
from recalld.recall.retrieve import Retriever
from recalld.serve.calibration import Standing
from recalld.serve.status import Probe
from recalld.settings import Settings
from recalld.store import Store
from recalld.trust.confidence import confidences
from recalld.watch.watcher import Watcher

log = logging.getLogger(__name__)

RETRY_S = 5.0
TEND_S = 300.0
REST_S = 1.0
"""How often an index that is not calibrated yet is looked at, until it is at rest (seconds)."""
SWEEP_S = 30.0
"""How often it is looked for answers that ended by the clock (seconds)."""


class Node:
    """The shared parts of one process; ``watcher`` is set by the role that watches."""

    def __init__(self, settings: Settings, foundation: Foundation) -> None:
        self.settings = settings
        self.foundation = foundation
        self.started_at: datetime = now()
        self.watcher: Watcher | None = None
        self.policy = ChunkPolicy(settings.ingest.policy, settings.ingest.chunk_tokens, settings.ingest.overlap_tokens)
        self.embedders = Embedders(self._make, settings.embed.model)
        self._retrievers: dict[int, Retriever] = {}
        self._calibrator: Calibrator | None = None
        self._calibration: Standing | None = None
        self._reranker: Reranker | None = None
        self._gate: Gate | None = None

    @property
    def store(self) -> Store:
        """The store; only roles that need one ask for it."""
        assert self.foundation.store is not None
        return self.foundation.store

    @property
    def generations(self) -> Generations:
        """What builds and finds generations."""
        return Generations(self.store, self.embedders, self.policy, self.foundation.events.announce)

    async def _make(self, name: str) -> Embedder:
        wanted = self.settings.embed
        if name != wanted.model:
            wanted = wanted.model_copy(update={"model": name, "options": {}})
        return await make_embedder(wanted, self.settings.node.cache_dir)

    async def load_model(self) -> None:
        """Load the configured embedder, when a role embeds anything."""
        if needs_store(self.settings):
            await self.embedders.load()
            embedder = await self.embedders.primary()
            # The first inference pays for what a runtime does lazily; a question should not.
            await embedder.embed_query("warm up")
            log.info("embedding with %s", embedder.name)
            await self._load_judges()

    async def _load_judges(self) -> None:
        """Load the optional judges that the settings name. Raises ConfigError, DependencyError."""
        recall, cache, texts = self.settings.recall, self.settings.node.cache_dir, self.store.chunks.texts
        self._reranker = await to_thread.run_sync(make_reranker, recall, cache, texts)
        self._gate = await to_thread.run_sync(make_gate, self.settings.trust)
        self._retrievers.clear()

    async def keep_generations(self) -> None:
        """Complete and switch generations, and give large ones their index, for as long as the node lives."""
        await self.embedders.primary()
        while True:
            try:
                await self.generations.build()
                await self.store.vectors.tend()
                pause = TEND_S
            except RecalldError as error:
                log.warning("the generation cannot be completed now: %s", error.message)
                pause = RETRY_S
            await anyio.sleep(pause)

    @property
    def calibrator(self) -> Calibrator:
        """What calibrates; one for all roles of this process."""
        if self._calibrator is None:
            self._calibrator = Calibrator(
                self.store,
                self.retriever,
                IngestStream(self.foundation.connection).pending,
                self.foundation.events.announce,
                self.settings.trust,
                now,
                random.Random(),
            )
        return self._calibrator

    async def keep_calibrated(self) -> None:
        """Calibrate as soon as the index is at rest, and see to it that it stays so, for as long as the node lives."""
        if self.settings.trust.calibrate == "off":
            return
        await self.embedders.primary()
        while True:
            try:
                outcome = await self.calibrator.tend()
                pause = REST_S if outcome.step is Step.WAITING else self.settings.trust.check_interval_s
            except RecalldError as error:
                log.warning("cannot calibrate now: %s", error.message)
                pause = RETRY_S
            await anyio.sleep(pause)

    def retriever(self, generation: Generation) -> Retriever:
        """Return the retriever of a generation."""
        if generation.id not in self._retrievers:
            embedder = GenerationEmbedder(self.embedders, generation)
            made = Retriever(self.store, embedder, Analyzer(), self.settings.recall, self._reranker)
            self._retrievers = {generation.id: made}
        return self._retrievers[generation.id]

    @property
    def receipts(self) -> Receipts:
        """What remembers who relied on what."""
        return Receipts(self.store, self.foundation.events.announce, now)

    async def keep_receipts(self) -> None:
        """Tell who relied on what ends by the clock, for as long as the node lives."""
        while True:
            try:
                await self.receipts.sweep()
            except RecalldError as error:
                log.warning("receipts cannot be looked at now: %s", error.message)
            await anyio.sleep(SWEEP_S)

    async def answering(self, generation: Generation) -> Answering:
        """Return what answers questions from a generation."""
        if self._calibration is None:
            self._calibration = Standing(self.store)
        sure = partial(confidences, await self._calibration(generation))
        return Answering(self.retriever(generation), self.store.standings, sure, self._gate)

    def reload(self, settings: Settings) -> None:
        """Take up new settings; the roles are told by their owner."""
        self.settings = self.settings.model_copy(update={"recall": settings.recall, "repos": settings.repos})
        self._retrievers.clear()

    def probes(self) -> Sequence[Probe]:
        """Return the health checks of this node."""
        return (self.postgres, self.nats, self.embedder, self.watching)

    async def postgres(self) -> wire.Check:
        """Ask the database something."""
        await self.store.ping()
        return wire.Check(name="postgres", status="ok")

    async def nats(self) -> wire.Check:
        """Ask the bus something."""
        self.foundation.connection.require_up()
        return wire.Check(name="nats", status="ok", detail=str(self.foundation.connection.address))

    async def embedder(self) -> wire.Check:
        """Tell how the model fares."""
        name = self.settings.embed.model
        if self.embedders.warming:
            return wire.Check(name="embedder", status="warming", detail=f"{name} is being loaded")
        if self.embedders.trouble:
            return wire.Check(
                name="embedder", status="degraded", detail=self.embedders.trouble, suggestion="see the daemon's log"
            )
        return wire.Check(name="embedder", status="ok", detail=(await self.embedders.primary()).name)

    async def watching(self) -> wire.Check:
        """Tell how this node's watcher fares; other nodes' repos are in the stats."""
        if self.watcher is None:
            return wire.Check(name="watcher", status="ok", detail="this node watches nothing")
        trouble = self.watcher.trouble()
        if trouble:
            return wire.Check(name="watcher", status="degraded", detail=trouble, suggestion="see `recall stats`")
        return wire.Check(name="watcher", status="ok", detail=self.watcher.summary())

    def summary(self) -> str:
        """Return one line on how things stand, for the service manager."""
        parts = [f"{self.settings.node.name}: {', '.join(self.settings.node.roles)}"]
        if needs_store(self.settings) and self.embedders.warming:
            parts.append("loading the model")
        if self.watcher is not None:
            parts.append(self.watcher.summary())
        return "; ".join(parts)

    def is_alive(self) -> bool:
        """Tell whether every part still makes progress, as far as this can be told."""
        return self.watcher is None or self.watcher.is_alive()

    async def aclose(self) -> None:
        """Release the models."""
        await self.embedders.aclose()
