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
from recalld.judges import BUILT_IN, PendingEntailment, PendingReranker, make_entailment, make_gate, make_reranker
from recalld.model import Generation
from recalld.recall.answer import Answering, Confidences
from recalld.recall.receipts import Receipts
from recalld.recall.rerank import Reranker
from recalld.recall.retrieve import Retriever
from recalld.serve.calibration import Standing
from recalld.serve.status import Probe
from recalld.settings import Settings
from recalld.store import Store
from recalld.store.usage import UsageLog
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
        self._analyzer = Analyzer()
        self._usage: UsageLog | None = None
        self._calibrator: Calibrator | None = None
        self._calibration: Standing | None = None
        recall, trust = settings.recall, settings.trust
        self._reranker = None if recall.reranker == BUILT_IN else PendingReranker(recall.reranker, self._make_reranker)
        self._entailment = (
            PendingEntailment(trust.entailment, partial(make_entailment, trust)) if trust.entailment else None
        )

    @property
    def store(self) -> Store:
        """The store; only roles that need one ask for it."""
        assert self.foundation.store is not None
        return self.foundation.store

    @property
    def usage(self) -> UsageLog:
        """What counts how lessons are used; one for all roles of this process."""
        if self._usage is None:
            self._usage = UsageLog(self.store.usage, now)
        return self._usage

    async def count_tokens(self, texts: Sequence[str]) -> Sequence[int]:
        """Count the tokens of texts as the embedder does."""
        embedder = await self.embedders.primary()
        return await to_thread.run_sync(embedder.count_tokens, texts)

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

    def _make_reranker(self) -> Reranker:
        return make_reranker(self.settings.recall, self.settings.node.cache_dir, self.store.chunks.texts)

    async def _load_judges(self) -> None:
        """Load the optional judges that the settings name, where searches are answered; these do not wait for it."""
        if "serve" not in self.settings.node.roles:
            return
        async with anyio.create_task_group() as group:
            if self._reranker is not None:
                group.start_soon(self._reranker.load)
            if self._entailment is not None:
                group.start_soon(self._entailment.load)

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
        """Return the retriever of a generation, without the optional reranker: what calibration asks."""
        return self._retriever(generation, None)

    def _retriever(self, generation: Generation, reranker: Reranker | None) -> Retriever:
        embedder = GenerationEmbedder(self.embedders, generation)
        return Retriever(self.store, embedder, self._analyzer, self.settings.recall, reranker)

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
        """Return what answers questions from a generation, with the optional judges."""
        gate = make_gate(self.settings.trust, self._entailment) if self._entailment is not None else None
        sure = await self._sure(generation)
        return Answering(self._retriever(generation, self._reranker), self.store.standings, sure, gate)

    async def comparing(self, generation: Generation) -> Answering:
        """Return what finds memos near another one: a memo is no question, and no judge is asked."""
        return Answering(self.retriever(generation), self.store.standings, await self._sure(generation))

    async def _sure(self, generation: Generation) -> Confidences:
        if self._calibration is None:
            self._calibration = Standing(self.store)
        return partial(confidences, await self._calibration(generation))

    def reload(self, settings: Settings) -> None:
        """Take up new settings; the roles are told by their owner."""
        fresh, kept = settings.recall, self.settings.recall
        if (fresh.reranker, fresh.reranker_options) != (kept.reranker, kept.reranker_options):
            log.warning("recall.reranker and its options need a restart: %s stays", kept.reranker)
        self.settings = self.settings.model_copy(update={"recall": settings.recall, "repos": settings.repos})

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
