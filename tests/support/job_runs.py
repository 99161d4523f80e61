"""Slots and runs in tests: a job that counts, a claim on its slot, and what the store and the bus have of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from nats.js.errors import NotFoundError

from recalld.bus import subjects
from recalld.bus.connection import Connection
from recalld.foundation import now
from recalld.jobs.job import Progress
from recalld.store import Store
from recalld.store.jobs import Claim, NotYours
from recalld.store.rows import JobRow

SLOT = "20261130T033000Z"


class Job:
    """Counts how often it was begun and ended; goes on when ``go_on`` is set."""

    def __init__(self, *, waits: bool = False) -> None:
        self.begun = anyio.Event()
        self.go_on = anyio.Event()
        self.starts = 0
        self.ends = 0
        if not waits:
            self.go_on.set()

    async def __call__(self, progress: Progress) -> dict[str, Any]:
        self.starts += 1
        self.begun.set()
        progress(1, 4, "at work")
        await self.go_on.wait()
        self.ends += 1
        return {"ends": self.ends}


async def only_run(store: Store) -> JobRow:
    (row,) = await store.jobs.list()
    return row


async def redelivered(connection: Connection) -> int:
    """Return how many requests were given more than once; 0 before there is a consumer."""
    try:
        info = await connection.jetstream.consumer_info(subjects.JOB_STREAM, subjects.JOB_CONSUMER)
    except NotFoundError:
        return 0
    return int(info.num_redelivered or 0)


@asynccontextmanager
async def claimed(store: Store, node: str, slot: str = SLOT) -> AsyncIterator[Claim | NotYours]:
    async with store.jobs.claim("lint", slot, node=node, by="schedule", at=now()) as claim:
        yield claim
