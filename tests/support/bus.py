"""What tests of the bus share: a connection with its streams, snapshots, and a consumer that runs."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import anyio
from anyio.abc import TaskStatus

from recalld.bus import streams
from recalld.bus.connection import Connection, connect
from recalld.bus.ingest import INLINE_BYTES, IngestConsumer, IngestPublisher
from recalld.embedded.nats import EmbeddedNats
from recalld.model import FileStat, Operation, Position, Snapshot
from recalld.settings import BusSettings, IngestSettings
from tests.support.directories import short_directory

BIG = b"0123456789abcdef" * (INLINE_BYTES // 8)
"""Content for the object store."""
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@asynccontextmanager
async def connected(
    url: str, *, with_streams: bool = True, on_state: Callable[[str], None] | None = None
) -> AsyncIterator[Connection]:
    """A daemon's connection, with the streams made."""
    connection = await connect(BusSettings(servers=(url,)), name="test", on_state=on_state)
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


async def publish(connection: Connection, *snapshots: Snapshot) -> None:
    """Put snapshots into the queue, one after the other."""
    publisher = IngestPublisher(connection)
    for each in snapshots:
        await publisher.publish(each)


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

    async def run(*, task_status: TaskStatus[None]) -> None:
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


class Server:
    """A NATS server that a test kills, wipes and starts again, on the same address."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._running: EmbeddedNats | None = None
        self.url = ""

    async def start(self) -> None:
        self._running = await EmbeddedNats.start(self._directory)
        self.url = self._running.url

    async def kill(self) -> None:
        """kill -9; returns once the process is gone."""
        assert self._running is not None
        os.kill(self._running.pid, signal.SIGKILL)
        await self._running.on_exit()

    async def restart(self) -> None:
        """Stop in order and start again."""
        await self.stop()
        await self.start()

    async def stop(self) -> None:
        assert self._running is not None
        await self._running.stop()

    def wipe(self) -> None:
        """Lose the storage, as a server on a disk that was replaced has."""
        shutil.rmtree(self._directory / "nats" / "jetstream")


@asynccontextmanager
async def server() -> AsyncIterator[Server]:
    """A started server, stopped at the end."""
    with short_directory() as directory:
        started = Server(directory)
        await started.start()
        try:
            yield started
        finally:
            await started.stop()


@dataclass
class States:
    """What a connection said of itself."""

    seen: list[str] = field(default_factory=list)
    changed: anyio.Event = field(default_factory=anyio.Event)

    def __call__(self, state: str) -> None:
        self.seen.append(state)
        self.changed.set()
        self.changed = anyio.Event()

    async def until(self, *wanted: str, timeout: float = 15.0) -> None:
        """Return once the states were exactly these, in this order."""
        with anyio.fail_after(timeout):
            while self.seen[-len(wanted) :] != list(wanted):
                await self.changed.wait()
