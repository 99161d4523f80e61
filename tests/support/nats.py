"""A JetStream of its own for each test."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import nats

from recalld.embedded.nats import EmbeddedNats


@asynccontextmanager
async def fresh_nats() -> AsyncIterator[str]:
    """Start a server with an empty JetStream, yield its url, stop it."""
    with tempfile.TemporaryDirectory(prefix="recalld-nats-") as directory:
        async with await EmbeddedNats.start(Path(directory)) as server:
            yield server.url


@asynccontextmanager
async def emptied_nats(url: str) -> AsyncIterator[str]:
    """Yield the url of somebody's server with no stream in it; leave none either."""
    await _drop_streams(url)
    try:
        yield url
    finally:
        await _drop_streams(url)


async def _drop_streams(url: str) -> None:
    connection = await nats.connect(url, allow_reconnect=False)
    try:
        jetstream = connection.jetstream()
        for stream in await jetstream.streams_info():
            await jetstream.delete_stream(stream.config.name)
    finally:
        await connection.close()
