"""A JetStream of its own for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import nats

from recalld.embedded.nats import EmbeddedNats
from tests.support.directories import short_directory


@asynccontextmanager
async def fresh_nats() -> AsyncIterator[str]:
    """Start a server with an empty JetStream, yield its url, stop it."""
    with short_directory() as directory:
        async with await EmbeddedNats.start(directory, options={"sync_interval": '"2m"'}) as server:
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
            await jetstream.delete_stream(str(stream.config.name))
    finally:
        await connection.close()
