"""Ingest messages on their way through a consumer: decoded, held, and given out in batches."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

import anyio
import pydantic
from nats.aio.msg import Msg

from recalld.bus import subjects
from recalld.bus.internal import IngestMessage
from recalld.errors import Rejected
from recalld.model import FileStat, Operation, Position, Snapshot

HEADER = "Recall-Ingest"
SUSPECT_AFTER = 3
"""From this try on a file is worked on alone: it may be what fails its whole batch, or ends the process."""


@dataclass(eq=False, slots=True)
class Delivery:
    """One message as it was delivered. ``snapshot`` is None when it cannot be read, ``fault`` says why.

    ``kept`` counts tries that something else was the reason of, ``failures`` those of them while others did not fail.
    ``due`` is when to try next (monotonic, s). ``fault`` is also set when the file could not be set aside yet.
    """

    message: Msg
    position: Position
    attempt: int
    subject: str
    snapshot: Snapshot | None = None
    object: str | None = None
    size: int = 0
    fault: Exception | None = None
    failures: int = 0
    kept: int = 0
    indexed_before: int = 0
    due: float = 0.0

    @property
    def tries(self) -> int:
        """Return how often this was tried, this time included."""
        return self.attempt + self.failures

    @property
    def is_suspect(self) -> bool:
        return self.tries >= SUSPECT_AFTER or self.kept > 1

    def __str__(self) -> str:
        if self.snapshot is None:
            return f"message {self.position.seq} on {self.subject}"
        return f"{self.snapshot.repo}:{self.snapshot.path} (message {self.position.seq})"

    def with_content(self, content: bytes) -> tuple[Snapshot, Position]:
        """Return what the worker takes."""
        assert self.snapshot is not None
        return dataclasses.replace(self.snapshot, content=content), self.position


def encode(snapshot: Snapshot, stored_as: str | None) -> str:
    """Return the header of a snapshot: JSON in ASCII, for NATS header values are bytes that proxies may re-encode."""
    stat = snapshot.stat
    assert snapshot.observed_at is not None
    message = IngestMessage(
        repo=snapshot.repo,
        path=snapshot.path,
        operation=snapshot.operation,
        content_hash=snapshot.content_hash,
        stat=(stat.size, stat.mtime_ns, stat.ctime_ns, stat.inode) if stat else None,
        commit=snapshot.commit,
        agent=snapshot.agent,
        observed_at=snapshot.observed_at,
        size=len(snapshot.content or b""),
        object=stored_as,
        skip=snapshot.skip,
    )
    return _ascii(message.model_dump_json(exclude_defaults=True))


def _ascii(text: str) -> str:
    """Escape what is not ASCII; outside of strings JSON has none."""
    return "".join(c if c < "\x7f" else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def decode(message: Msg, epoch: int) -> Delivery:
    """Read a message; one that cannot be read comes back with its ``fault``."""
    metadata = message.metadata
    delivery = Delivery(
        message, Position(epoch, int(metadata.sequence.stream)), int(metadata.num_delivered), message.subject
    )
    try:
        _read(message, delivery)
    except Rejected as fault:
        delivery.fault = fault
    return delivery


def _read(message: Msg, delivery: Delivery) -> None:
    header = (message.headers or {}).get(HEADER)
    if header is None:
        raise Rejected(f"no {HEADER} header", suggestion="publish snapshots through recalld")
    try:
        body = IngestMessage.model_validate_json(header)
    except pydantic.ValidationError as error:
        raise Rejected(f"the {HEADER} header is not valid: {error.errors()[0]['msg']}") from error
    if message.subject != subjects.ingest(body.repo, body.path):
        raise Rejected(f"{body.repo}:{body.path} was published on the subject of another file")
    if body.path.startswith("/") or ".." in body.path.split("/"):
        raise Rejected(f"{body.path} is outside of its repo")
    inline = message.data or b""
    if body.object is None and len(inline) != body.size:
        raise Rejected(f"{len(inline)} bytes of content where {body.size} were announced")
    delivery.object, delivery.size = body.object, body.size
    delivery.snapshot = Snapshot(
        repo=body.repo,
        path=body.path,
        operation=body.operation,
        content_hash=body.content_hash,
        stat=FileStat(*body.stat) if body.stat else None,
        content=inline if body.object is None and body.operation is Operation.UPSERT else None,
        commit=body.commit,
        agent=body.agent,
        observed_at=body.observed_at,
        skip=body.skip,
    )


class Backlog:
    """What was delivered and is not settled: waiting, or in work."""

    def __init__(self, *, batch: int, batch_bytes: int) -> None:
        self._batch = batch
        self._batch_bytes = batch_bytes
        self._waiting: list[Delivery] = []
        self._working: set[Delivery] = set()
        self._changed = anyio.Event()
        self._closed = False
        self._suspects_turn = False

    @property
    def room(self) -> int:
        """Return how many more messages to ask for: as many as make one full batch wait."""
        return 0 if self._closed else self._batch - len(self._waiting)

    @property
    def held(self) -> tuple[Delivery, ...]:
        return (*self._waiting, *self._working)

    def add(self, delivery: Delivery) -> Delivery | None:
        """Take a delivery in; return the older one when two of the same file wait, which is not needed any more."""
        other = next((d for d in self._waiting if d.subject == delivery.subject), None)
        if other is not None and other.position > delivery.position:
            return delivery
        if other is not None:
            self._waiting.remove(other)
        self._waiting.append(delivery)
        self._notify()
        return other if other is not None and other.position < delivery.position else None

    def put_back(self, delivery: Delivery, due: float) -> None:
        """Let a delivery that was given out wait until ``due`` (monotonic, s)."""
        delivery.due = due
        self._working.discard(delivery)
        self._waiting.append(delivery)
        self._notify()

    def settled(self, delivery: Delivery) -> None:
        """Forget a delivery that was given out."""
        self._working.discard(delivery)
        self._notify()

    def close(self) -> list[Delivery]:
        """Give out no more; return what waited."""
        self._closed = True
        left, self._waiting = self._waiting, []
        self._notify()
        return left

    async def next(self) -> list[Delivery]:
        """Return the next batch, at least one delivery; an empty list once closed."""
        while not self._closed:
            now = anyio.current_time()
            batch = self._pick([d for d in self._waiting if d.due <= now])
            if batch:
                self._waiting = [d for d in self._waiting if d not in batch]
                self._working.update(batch)
                return batch
            if self._changed.is_set():
                self._changed = anyio.Event()
            with anyio.move_on_at(min((d.due for d in self._waiting), default=float("inf"))):
                await self._changed.wait()
        return []

    def _pick(self, due: list[Delivery]) -> list[Delivery]:
        fresh = [d for d in due if not d.is_suspect]
        suspects = [d for d in due if d.is_suspect]
        if any(d.is_suspect for d in self._working):
            suspects = []
        if suspects and (self._suspects_turn or not fresh):
            self._suspects_turn = False
            return [_next_suspect(suspects)]
        self._suspects_turn = True
        return self._fitting(fresh)

    def _fitting(self, fresh: Iterable[Delivery]) -> list[Delivery]:
        batch: list[Delivery] = []
        size = 0
        for delivery in fresh:
            size += delivery.size
            if batch and (len(batch) == self._batch or size > self._batch_bytes):
                break
            batch.append(delivery)
        return batch

    def _notify(self) -> None:
        self._changed.set()


def _next_suspect(suspects: list[Delivery]) -> Delivery:
    """Return the oldest, or on even tries the newest.

    When one of them ends the process, the others were delivered in vain, too. Coming from both ends in turn, two
    rounds are enough to have worked on all but that one.
    """
    ordered = sorted(suspects, key=lambda delivery: delivery.position)
    return ordered[0] if ordered[0].tries % 2 else ordered[-1]
