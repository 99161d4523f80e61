"""The indexing worker: snapshots in, stored documents out.

A batch goes through in steps so that one inference serves several documents: read and cut (in a thread),
ask what is already embedded, embed the rest, analyze, then one transaction a document. A document that fails
fails alone. The worker never sees the watcher's disk: the snapshot carries the bytes.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from anyio import CapacityLimiter, to_thread

from recalld.analyze import Analyzer
from recalld.embed.protocol import Embedder
from recalld.errors import RecalldError
from recalld.ingest.chunk_policy import ChunkPolicy
from recalld.ingest.parse import parse
from recalld.ingest.sources import FILES, Sources, findings_of, sources_of
from recalld.ingest.statements import declared_kind
from recalld.model import (
    ChunkVectors,
    ChunkWrite,
    Finding,
    Generation,
    Operation,
    ParsedDocument,
    Position,
    Repo,
    Severity,
    Snapshot,
)
from recalld.spans import span
from recalld.store import DocumentWrite, Outcome, Store

log = logging.getLogger(__name__)

Changed = Callable[[Sequence[tuple[int, str]]], Awaitable[object]]
"""Is told which documents (repo id and path) were committed; what it does must not fail their indexing."""
Announce = Callable[[str, Mapping[str, Any]], Awaitable[None]]
"""Publishes an event: topic and facts."""


@dataclass(frozen=True, slots=True)
class Target:
    """A generation that is written to, with the embedder of its space."""

    generation: Generation
    embedder: Embedder


@dataclass(slots=True)
class Work:
    """One document on its way through a batch."""

    snapshot: Snapshot
    position: Position
    repo: Repo | None = None
    sources: Sources = field(default_factory=Sources)
    parsed: ParsedDocument | None = None
    chunks: dict[int, list[ChunkWrite]] = field(default_factory=dict)
    failure: Exception | None = None


@dataclass(slots=True)
class IndexWorker:
    """Indexes batches of snapshots into every generation of ``targets``."""

    store: Store
    targets: Callable[[], Awaitable[Sequence[Target]]]
    policy: ChunkPolicy
    announce: Announce
    clock: Callable[[], datetime]
    changed: Changed | None = None
    analyzer: Analyzer = field(default_factory=Analyzer)
    threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(1))

    async def index(self, batch: Sequence[tuple[Snapshot, Position]]) -> list[Exception | None]:
        """Index a batch; return for each snapshot None once it is committed, or why it failed.

        Documents are committed without waiting for the disk, then all are waited for at once: what the queue is told
        to be done survives a crash of the database.
        """
        with span("ingest", documents=len(batch)):
            return await self._index(batch)

    async def _index(self, batch: Sequence[tuple[Snapshot, Position]]) -> list[Exception | None]:
        work = [Work(snapshot, position) for snapshot, position in batch]
        targets = await self.targets()
        for item in work:
            await self._attempt(item, self._find_repo)
        reading = [item for item in work if item.repo and not item.failure and self._is_read(item.snapshot)]
        await self._find_sources(reading)
        with span("read", documents=len(reading)):
            await to_thread.run_sync(self._read_all, reading, targets[0].embedder, limiter=self.threads)
        for target in targets:
            with span("embed", generation=target.generation.id):
                await self._embed_all([item for item in reading if not item.failure], target)
        with span("commit"):
            for item in work:
                await self._attempt(item, self._commit)
            await self.store.flush()
        await self._tell_changed(work)
        return [item.failure for item in work]

    async def _tell_changed(self, work: Sequence[Work]) -> None:
        if self.changed is None:
            return
        try:
            await self.changed(
                [(item.repo.id, item.snapshot.path) for item in work if item.repo is not None and not item.failure]
            )
        except RecalldError as error:
            log.warning("who relied on what has changed is told later: %s", error.message)

    async def give_up(self, snapshot: Snapshot, position: Position, error: BaseException) -> None:
        """Record that a snapshot was set aside after its last try, as a finding that names the file."""
        repo = await self.store.repos.get(snapshot.repo)
        if repo is None:
            return
        reason = error.message if isinstance(error, RecalldError) else f"{type(error).__name__}: {error}"
        await self.store.documents.fail(repo.id, snapshot, position, reason, at=self.clock())
        finding = Finding(
            snapshot.repo, snapshot.path, "ingest-failed", Severity.ERROR, reason, "save the file again to retry it"
        )
        await self.store.findings.replace(snapshot.repo, snapshot.path, "ingest", [finding], at=self.clock())
        await self._tell("failed", snapshot, position, reason=reason)

    @staticmethod
    def _is_read(snapshot: Snapshot) -> bool:
        return snapshot.operation is Operation.UPSERT and snapshot.skip is None

    async def _attempt(self, item: Work, step: Callable[[Work], Awaitable[None]]) -> None:
        if item.failure is not None:
            return
        try:
            await step(item)
        except Exception as error:
            item.failure = error

    async def _find_repo(self, item: Work) -> None:
        item.repo = await self.store.repos.get(item.snapshot.repo)
        if item.repo is None:
            log.info("dropped %s: repo %s is no longer registered", item.snapshot.path, item.snapshot.repo)

    async def _find_sources(self, items: Sequence[Work]) -> None:
        """Give each item what its repo says of its files."""
        said = await self.store.guides.named(list({item.repo.id for item in items if item.repo is not None}), FILES)
        for item in items:
            if item.repo is not None:
                item.sources = sources_of(said.get(item.repo.id, {}))

    def _read_all(self, items: Sequence[Work], embedder: Embedder) -> None:
        for item in items:
            try:
                item.parsed = parse(
                    item.snapshot.path,
                    item.snapshot.content or b"",
                    self.policy,
                    embedder.count_tokens,
                    embedder.token_limit,
                    item.sources.kind_of,
                )
                if item.snapshot.path in FILES:
                    found = findings_of(item.snapshot.path, item.parsed.text)
                    item.parsed = replace(item.parsed, findings=(*item.parsed.findings, *found))
            except Exception as error:
                item.failure = error

    async def _embed_all(self, items: Sequence[Work], target: Target) -> None:
        """Give each item its chunks for the target's generation, embedding what no one has embedded yet."""
        places = [(item.repo.id, item.snapshot.path) for item in items if item.repo is not None]
        known = await self.store.documents.known(target.generation.id, places)
        held = {id(item): hashes for item, hashes in zip(items, known, strict=True)}
        wanted = {
            chunk.hash: chunk.embed_text
            for item in items
            for chunk in item.parsed.chunks  # type: ignore[union-attr]
            if chunk.hash not in held[id(item)]
        }
        vectors = await self._vectors(wanted, target, items)
        await to_thread.run_sync(self._assemble, items, held, vectors, target.generation.id, limiter=self.threads)

    async def _vectors(
        self, wanted: Mapping[str, str], target: Target, items: Sequence[Work]
    ) -> Mapping[str, ChunkVectors]:
        fingerprint = target.embedder.fingerprint
        vectors = dict(await self.store.cache.get(fingerprint, list(wanted)))
        missing = [key for key in wanted if key not in vectors]
        if missing:
            try:
                made = await target.embedder.embed_documents([wanted[key] for key in missing])
            except Exception as error:
                for item in items:
                    item.failure = error
                return vectors
            vectors.update(zip(missing, made, strict=True))
        return vectors

    def _assemble(
        self,
        items: Sequence[Work],
        held: Mapping[int, set[str]],
        vectors: Mapping[str, ChunkVectors],
        generation_id: int,
    ) -> None:
        for item in items:
            if item.failure is not None or item.parsed is None:
                continue
            title, path = item.parsed.title, item.snapshot.path
            item.chunks[generation_id] = [
                ChunkWrite(chunk, None, None)
                if chunk.hash in held[id(item)]
                else ChunkWrite(
                    chunk, self.analyzer.document(title, path, chunk.heading, chunk.text), vectors[chunk.hash]
                )
                for chunk in item.parsed.chunks
            ]

    async def _commit(self, item: Work) -> None:
        if item.repo is None:
            return
        snapshot, position, repo = item.snapshot, item.position, item.repo
        if snapshot.operation is Operation.DELETE:
            outcome = await self.store.documents.delete(repo.id, snapshot.path, position, at=self.clock())
            if outcome is Outcome.WRITTEN:
                await self.store.findings.replace(repo.name, snapshot.path, "ingest", (), at=self.clock())
                await self._map_again(repo, snapshot.path)
            await self._tell("deleted", snapshot, position, outcome=outcome)
            return
        if snapshot.skip is not None:
            outcome = await self.store.documents.skip(repo.id, snapshot, position, at=self.clock())
            await self._tell("skipped", snapshot, position, outcome=outcome, reason=snapshot.skip)
            return
        assert item.parsed is not None
        outcome = await self.store.documents.write(
            DocumentWrite(repo.id, snapshot, position, item.parsed, item.chunks, at=self.clock())
        )
        if outcome is Outcome.WRITTEN:
            await self.store.findings.replace(
                snapshot.repo, snapshot.path, "ingest", item.parsed.findings, at=self.clock()
            )
            await self._map_again(repo, snapshot.path)
        await self._tell("indexed", snapshot, position, outcome=outcome, chunks=len(item.parsed.chunks))

    async def _map_again(self, repo: Repo, path: str) -> None:
        """Give the documents of a repo the kinds that it says now, where what it says has changed."""
        if path not in FILES:
            return
        sources = sources_of((await self.store.guides.named([repo.id], FILES)).get(repo.id, {}))
        await self.store.guides.rekind(repo.id, lambda path, metadata: declared_kind(metadata) or sources.kind_of(path))

    async def _tell(self, topic: str, snapshot: Snapshot, position: Position, **facts: Any) -> None:
        lag = (self.clock() - snapshot.observed_at).total_seconds() if snapshot.observed_at else None
        await self.announce(
            topic, {"repo": snapshot.repo, "path": snapshot.path, "seq": position.seq, "lag_s": lag, **facts}
        )
