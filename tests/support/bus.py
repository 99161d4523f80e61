"""What tests of the bus share: a connection with its streams, snapshots, and a consumer that runs."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import anyio

from recalld.bus import streams
from recalld.bus.connection import Connection, connect
from recalld.bus.ingest import IngestConsumer
from recalld.model import FileStat, Operation, Position, Snapshot
from recalld.settings import BusSettings, IngestSettings

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@asynccontextmanager
async def connected(url: str, *, with_streams: bool = True, patience_s: float = 10.0) -> AsyncIterator[Connection]:
    """A daemon's connection, with the streams made."""
    connection = await connect(BusSettings(servers=(url,)), name="test", patience_s=patience_s)
    try:
        if with_streams:
            await streams.ensure(connection, replicas=1)
        yield connection
    finally:
        await connection.aclose()


def snapshot(path: str, content: bytes | str = b"text", *, repo: str = "memory") -> Snapshot:
    """A file as it was seen at noon."""
    data = content.encode() if isinstance(content, str) else content
    return Snapshot(
        repo,
        path,
        Operation.UPSERT,
        content_hash=hashlib.sha256(data).hexdigest(),
        stat=FileStat(len(data), 1_700_000_000_123_456_789, 1_700_000_001_000_000_000, 42),
        content=data,
        commit="abc",
        agent="watcher",
        observed_at=NOW,
    )


@dataclass
class Indexer:
    """A worker that remembers what it was given, and does what ``act`` says about it.

    ``act`` is given a snapshot and how often it was seen, and returns why it fails, or None.
    """

    act: Callable[[Snapshot, int], Exception | None] = lambda snapshot, times: None
    batches: list[list[Snapshot]] = field(default_factory=list)
    positions: dict[str, Position] = field(default_factory=dict)
    given_up: list[tuple[Snapshot, Position, BaseException]] = field(default_factory=list)
    changed: anyio.Event = field(default_factory=anyio.Event)

    @property
    def seen(self) -> list[Snapshot]:
        return [snapshot for batch in self.batches for snapshot in batch]

    def times(self, path: str) -> int:
        return sum(snapshot.path == path for snapshot in self.seen)

    async def index(self, batch: Sequence[tuple[Snapshot, Position]]) -> list[Exception | None]:
        self.batches.append([snapshot for snapshot, _ in batch])
        self.positions.update({snapshot.path: position for snapshot, position in batch})
        try:
            return [self.act(snapshot, self.times(snapshot.path)) for snapshot, _ in batch]
        finally:
            self.notify()

    async def give_up(self, snapshot: Snapshot, position: Position, error: BaseException) -> None:
        self.given_up.append((snapshot, position, error))
        self.notify()

    def notify(self) -> None:
        self.changed.set()
        self.changed = anyio.Event()

    async def until(self, condition: Callable[[], bool], timeout: float = 15.0) -> None:
        """Return once ``condition`` holds; it is looked at whenever something was done."""
        with anyio.fail_after(timeout):
            while not condition():
                await self.changed.wait()


@asynccontextmanager
async def indexing(
    connection: Connection, indexer: Indexer, settings: IngestSettings | None = None
) -> AsyncIterator[IngestConsumer]:
    """A consumer that hands to ``indexer``, stopped in order at the end."""
    consumer = IngestConsumer(connection, settings or IngestSettings())
    stop = anyio.Event()

    async def run(*, task_status: anyio.abc.TaskStatus[None]) -> None:
        await consumer.run(indexer.index, indexer.give_up, stop, task_status=task_status)

    async with anyio.create_task_group() as group:
        await group.start(run)
        try:
            yield consumer
        finally:
            stop.set()


async def until_empty(connection: Connection, timeout: float = 15.0) -> None:
    """Return once every snapshot was settled."""
    stream = streams.IngestStream(connection)
    with anyio.fail_after(timeout):
        while await stream.pending():  # noqa: ASYNC110 - the server tells nobody
            await anyio.sleep(0.01)
