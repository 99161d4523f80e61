"""An index in this process, by the real parser, embedder, analyzer and store, to test and measure retrieval on."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from recalld.analyze import Analyzer
from recalld.embed.protocol import Embedder
from recalld.embed.registry import Embedders, GenerationEmbedder
from recalld.ingest.chunk_policy import ChunkPolicy
from recalld.ingest.generations import Generations
from recalld.ingest.worker import IndexWorker
from recalld.model import FileStat, Generation, Operation, Position, Repo, Snapshot
from recalld.recall.ports import QueryEmbedder
from recalld.recall.retrieve import Retriever
from recalld.settings import RecallSettings
from recalld.store import Store

AT = datetime(2026, 3, 4, tzinfo=UTC)
BATCH = 32


@dataclass(slots=True)
class Index:
    """A store with one serving generation, and how to fill and search it."""

    store: Store
    embedders: Embedders
    generation: Generation
    worker: IndexWorker
    _seq: int = field(default=0)

    async def add(self, documents: Mapping[str, bytes], repo: str = "memory", **fields: Any) -> None:
        """Index documents by path, in order. ``fields`` are further ones of the repo. Raises what the worker meets."""
        await self.store.repos.add(Repo(repo, f"/srv/{repo}", "here", **fields), by="tester", at=AT)
        paths = list(documents)
        for start in range(0, len(paths), BATCH):
            batch = [(_snapshot(repo, path, documents[path]), self._next()) for path in paths[start : start + BATCH]]
            for failure in await self.worker.index(batch):
                if failure is not None:
                    raise failure

    async def delete(self, path: str, repo: str = "memory") -> None:
        """Take a document away again."""
        [failure] = await self.worker.index([(Snapshot(repo, path, Operation.DELETE), self._next())])
        if failure is not None:
            raise failure

    def retriever(self, settings: RecallSettings | None = None, embedder: QueryEmbedder | None = None) -> Retriever:
        """Return a retriever as the daemon makes it; with another query embedder where one is given."""
        return Retriever(
            self.store,
            embedder or GenerationEmbedder(self.embedders, self.generation),
            Analyzer(),
            settings or RecallSettings(),
        )

    def _next(self) -> Position:
        self._seq += 1
        return Position(1, self._seq)


@asynccontextmanager
async def an_index(dsn: str, embedder: Embedder, policy: ChunkPolicy | None = None) -> AsyncIterator[Index]:
    """Open an empty index in a migrated database. The embedder stays the caller's."""

    async def make(_: str) -> Embedder:
        return embedder

    async def announce(_: str, __: Mapping[str, Any]) -> None:
        return

    store = await Store.open(dsn)
    try:
        embedders = Embedders(make, embedder.name)
        await embedders.load()
        generations = Generations(store, embedders, policy or ChunkPolicy(), announce)
        worker = IndexWorker(store, generations.targets, generations.policy, announce, lambda: AT)
        yield Index(store, embedders, await generations.ensure(), worker)
    finally:
        await store.aclose()


def _snapshot(repo: str, path: str, content: bytes) -> Snapshot:
    stat = FileStat(len(content), 1_700_000_000_000_000_000, 1_700_000_000_000_000_000, 7)
    digest = hashlib.sha256(content).hexdigest()
    return Snapshot(repo, path, Operation.UPSERT, digest, stat, content, agent="tester", observed_at=AT)
