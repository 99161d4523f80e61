"""The streams: what each keeps and for how long, and how far the ingest queue is worked off."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import nats.js.errors
from nats.js.api import DiscardPolicy, RetentionPolicy, StorageType, StreamConfig

from recalld.bus import subjects
from recalld.bus.connection import Connection
from recalld.errors import ConfigError, DependencyError, UnreachableError

log = logging.getLogger(__name__)

MIB = 1 << 20
DAY_S = 86_400.0
CONTENT_TTL_S = DAY_S
API_TIMEOUT_S = 5.0
_NAME_IN_USE = 10058
_NO_STREAM = 10059


def ingest_config() -> StreamConfig:
    """One subject a file and one message a subject: the latest state of a file is the one that is worked on."""
    return StreamConfig(
        name=subjects.INGEST_STREAM,
        subjects=[subjects.INGEST_SUBJECTS],
        retention=RetentionPolicy.WORK_QUEUE,
        storage=StorageType.FILE,
        discard=DiscardPolicy.OLD,
        max_msgs_per_subject=1,
    )


def dead_config() -> StreamConfig:
    """The newest snapshot of each file that could not be indexed, to look at or to publish again."""
    return StreamConfig(
        name=subjects.DEAD_STREAM,
        subjects=[subjects.DEAD_SUBJECTS],
        retention=RetentionPolicy.LIMITS,
        storage=StorageType.FILE,
        discard=DiscardPolicy.OLD,
        max_msgs_per_subject=1,
        max_age=30 * DAY_S,
        max_bytes=256 * MIB,
    )


def event_config() -> StreamConfig:
    """What happened in the last days."""
    return StreamConfig(
        name=subjects.EVENT_STREAM,
        subjects=[subjects.EVENT_SUBJECTS],
        retention=RetentionPolicy.LIMITS,
        storage=StorageType.FILE,
        discard=DiscardPolicy.OLD,
        max_age=7 * DAY_S,
        max_bytes=128 * MIB,
    )


def job_config() -> StreamConfig:
    """Jobs asked for: one subject a slot and one message a subject, so that no slot takes the place of another.

    A request waits for a week when no node runs jobs. Of the same slot asked for again within an hour (``Nats-Msg-Id``)
    nothing is kept, whether it waits or was run; what comes later is found in Postgres to have been run.
    """
    return StreamConfig(
        name=subjects.JOB_STREAM,
        subjects=[subjects.JOB_SUBJECTS],
        retention=RetentionPolicy.WORK_QUEUE,
        storage=StorageType.FILE,
        discard=DiscardPolicy.OLD,
        max_msgs_per_subject=1,
        max_age=7 * DAY_S,
        duplicate_window=3_600.0,
    )


def content_config() -> StreamConfig:
    """The object store bucket for what is too big to stand in a message."""
    bucket = subjects.CONTENT_BUCKET
    return StreamConfig(
        name=f"OBJ_{bucket}",
        subjects=[f"$O.{bucket}.C.>", f"$O.{bucket}.M.>"],
        storage=StorageType.FILE,
        discard=DiscardPolicy.NEW,
        max_age=CONTENT_TTL_S,
        allow_rollup_hdrs=True,
        allow_direct=True,
    )


CONFIGS: tuple[Callable[[], StreamConfig], ...] = (
    ingest_config,
    dead_config,
    event_config,
    job_config,
    content_config,
)


async def ensure(connection: Connection, *, replicas: int | None = None) -> None:
    """Create the streams that are missing and bring the others up to date.

    Raises ConfigError when the server has no JetStream, DependencyError when it does not answer.
    """
    if replicas is not None:
        connection.replicas = replicas
    for make in CONFIGS:
        await _ensure(connection, make().evolve(num_replicas=connection.replicas))


async def _ensure(connection: Connection, config: StreamConfig) -> None:
    try:
        with connection.guarded(f"creating stream {config.name}"):
            try:
                await connection.jetstream.add_stream(config)
            except nats.js.errors.BadRequestError as error:
                if error.err_code != _NAME_IN_USE:
                    raise
                await connection.jetstream.update_stream(config)
                log.info("updated the configuration of stream %s", config.name)
    except UnreachableError as error:
        raise ConfigError(
            f"NATS at {connection.address} has no JetStream, or this user may not use it",
            suggestion="start nats-server with -js (or jetstream {} in its configuration)",
        ) from error


@dataclass(frozen=True, slots=True)
class IngestState:
    """The ingest queue: ``epoch`` is the stream's creation (ns since 1970), ``first_seq`` the lowest unsettled one."""

    epoch: int
    first_seq: int
    last_seq: int
    pending: int


class IngestStream:
    """Questions about the ingest queue."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._epoch = 0
        self._session = 0

    async def state(self) -> IngestState:
        """Ask the server. Raises DependencyError when it does not answer or the stream is not there."""
        info = await stream_info(self._connection, subjects.INGEST_STREAM)
        state = info["state"]
        return IngestState(
            nanoseconds(info["created"]), int(state["first_seq"]), int(state["last_seq"]), int(state["messages"])
        )

    async def pending(self) -> int:
        """Return how many files wait to be indexed."""
        return (await self.state()).pending

    async def indexed_past(self, seq: int) -> bool:
        """Tell whether every snapshot up to ``seq`` was indexed, set aside, or replaced by a newer one of its file."""
        state = await self.state()
        return state.last_seq >= seq and (state.pending == 0 or state.first_seq > seq)

    async def newest(self) -> int:
        """Return the sequence of the newest snapshot."""
        return (await self.state()).last_seq

    async def epoch(self) -> int:
        """Return the stream's epoch; asked once a session, for only a new session can be of another stream."""
        session = self._connection.session
        if self._session != session:
            self._epoch = (await self.state()).epoch
            self._session = session
        return self._epoch

    def forget_epoch(self) -> None:
        """Ask for the epoch again next time: the stream was seen to be another one."""
        self._session = 0


async def put(
    connection: Connection, stream: str, subject: str, payload: bytes, headers: Mapping[str, str] | None = None
) -> int:
    """Publish a message and return its sequence once the stream holds it.

    Raises UnreachableError when no stream takes the subject, DependencyError, ConnectionLostError.
    """
    with connection.guarded(f"publishing {subject}", subject=subject):
        ack = await connection.jetstream.publish(subject, payload, stream=stream, headers=dict(headers or {}))
    return int(ack.seq)


async def stream_info(connection: Connection, stream: str) -> dict[str, Any]:
    """Return the server's own words on a stream: nats-py would cut the creation time to microseconds."""
    return await ask_api(connection, f"STREAM.INFO.{stream}", {})


async def ask_api(connection: Connection, verb: str, body: dict[str, Any]) -> dict[str, Any]:
    """Ask the JetStream API. Raises DependencyError for an error reply, or none."""
    payload = json.dumps(body).encode() if body else b""
    try:
        message = await connection.request(f"$JS.API.{verb}", payload, timeout=API_TIMEOUT_S)
    except (TimeoutError, UnreachableError) as error:
        raise DependencyError(f"JetStream does not answer ({verb})") from error
    reply: dict[str, Any] = json.loads(message.data)
    if "error" in reply:
        if reply["error"].get("err_code") == _NO_STREAM:
            raise StreamMissingError(f"no such stream ({verb})")
        raise DependencyError(f"JetStream: {reply['error'].get('description', reply['error'])} ({verb})")
    return reply


class StreamMissingError(DependencyError):
    """The server has lost a stream, or it was deleted."""


def nanoseconds(timestamp: str) -> int:
    """Return an RFC 3339 time in UTC, as NATS writes it with up to nine decimals, in ns since 1970."""
    head, _, fraction = timestamp.rstrip("Z").partition(".")
    seconds = int(datetime.fromisoformat(head + "+00:00").timestamp())
    return seconds * 1_000_000_000 + int(fraction.ljust(9, "0")[:9] or 0)
