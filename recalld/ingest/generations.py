"""Builds a new generation beside the serving one from the documents' stored text, then switches over."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from anyio import CapacityLimiter, to_thread

from recalld.analyze import Analyzer
from recalld.embed.protocol import Embedder
from recalld.embed.registry import Embedders
from recalld.errors import RecalldError
from recalld.ingest.chunk_policy import ChunkPolicy
from recalld.ingest.parse import PARSER_VERSION, parse
from recalld.ingest.worker import Target
from recalld.model import ChunkVectors, ChunkWrite, Generation, ParsedDocument
from recalld.store import Store, StoredDocument

log = logging.getLogger(__name__)

BATCH = 16


def fingerprint(policy: ChunkPolicy, embedder: Embedder) -> str:
    """Return the name of one way of indexing: any change to cutting, embedding or analysis changes it."""
    parts = (PARSER_VERSION, policy.name, policy.tokens, policy.overlap, embedder.fingerprint, Analyzer.VERSION)
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()


@dataclass(slots=True)
class Generations:
    """Knows which generations are written to, and builds the one that is not complete yet."""

    store: Store
    embedders: Embedders
    policy: ChunkPolicy
    announce: Callable[[str, Mapping[str, Any]], Awaitable[None]]
    analyzer: Analyzer = field(default_factory=Analyzer)
    threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(1))

    async def ensure(self) -> Generation:
        """Register the generation that the configured embedder and policy make; the first of all serves at once."""
        embedder = await self.embedders.primary()
        return await self.store.generations.ensure(
            fingerprint(self.policy, embedder),
            embedder=embedder.name,
            embedder_fingerprint=embedder.fingerprint,
            dimension=embedder.dimension,
        )

    async def targets(self) -> list[Target]:
        """Return the generations that a new document must stand in, the configured one first.

        A serving generation whose model is lost gets no new documents; the replies say that it is being replaced.
        """
        current = await self.ensure()
        targets = [Target(current, await self.embedders.primary())]
        serving = await self.store.generations.serving()
        if serving is not None and serving.id != current.id:
            try:
                targets.append(Target(serving, await self.embedders.of(serving)))
            except RecalldError as error:
                log.warning("generation %d gets no new documents: %s", serving.id, error.message)
        return targets

    async def build(self) -> None:
        """Complete the configured generation and switch to it; returns when it serves and the old ones are gone."""
        current = await self.ensure()
        if current.state == "building":
            await self._fill(current)
            while not await self.store.generations.switch(current.id):
                await self._fill(current)
            await self.announce("generation.switched", {"generation": current.id, "embedder": current.embedder})
            log.info("generation %d (%s) serves now", current.id, current.embedder)
        more = True
        while more:
            more = await self.store.generations.drop_retired()

    async def _fill(self, generation: Generation) -> None:
        embedder = await self.embedders.primary()
        await self.announce("generation.building", {"generation": generation.id, "embedder": generation.embedder})
        while missing := await self.store.generations.documents_missing(generation.id, BATCH):
            for document in missing:
                await self._add(document, generation, embedder)

    async def _add(self, document: StoredDocument, generation: Generation, embedder: Embedder) -> None:
        parsed = await to_thread.run_sync(self._parse, document, embedder, limiter=self.threads)
        texts = {chunk.hash: chunk.embed_text for chunk in parsed.chunks}
        vectors: dict[str, ChunkVectors] = dict(await self.store.cache.get(embedder.fingerprint, list(texts)))
        missing = [key for key in texts if key not in vectors]
        if missing:
            vectors.update(zip(missing, await embedder.embed_documents([texts[key] for key in missing]), strict=True))
        chunks = [
            ChunkWrite(
                chunk,
                self.analyzer.document(parsed.title, document.path, chunk.heading, chunk.text),
                vectors[chunk.hash],
            )
            for chunk in parsed.chunks
        ]
        await self.store.generations.add(generation.id, document, parsed, chunks)

    def _parse(self, document: StoredDocument, embedder: Embedder) -> ParsedDocument:
        return parse(
            document.path, document.text.encode("utf-8"), self.policy, embedder.count_tokens, embedder.token_limit
        )
