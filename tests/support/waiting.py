"""Waiting for a daemon's index to say what it should; on its events, with a question each second besides."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from recalld.bus import wire
from recalld.bus.client import RecallClient
from recalld.errors import DeadlineError, DependencyError, UnreachableError
from recalld.model import DocumentState
from tests.support.daemon import running
from tests.support.repos import on_disk


@dataclass(slots=True)
class Mirror:
    """Follows what a repo's index holds: path to content hash of every indexed document."""

    client: RecallClient
    repo: str
    found: dict[str, str] = field(default_factory=dict)
    cursor: str = ""

    async def update(self) -> dict[str, str]:
        """Read what changed since the last time."""
        more = True
        while more:
            page = await self.client.delta(wire.DeltaRequest(since=self.cursor, limit=5_000, repo=self.repo))
            for change in page.changes:
                if change.state is DocumentState.INDEXED:
                    self.found[change.path] = change.content_hash
                else:
                    self.found.pop(change.path, None)
            self.cursor, more = page.cursor, page.more
        return self.found


async def until_indexed(client: RecallClient, repo: str, wanted: Mapping[str, str], timeout: float = 60.0) -> None:
    """Wait until a repo's index holds exactly ``wanted``; on a timeout say what differs."""
    mirror = Mirror(client, repo)
    with anyio.move_on_after(timeout):
        async with client.follow() as events:
            while True:
                with suppress(DependencyError, UnreachableError, DeadlineError):  # a server that was killed comes back
                    if await mirror.update() == wanted:
                        return
                with anyio.move_on_after(1.0):
                    await anext(events)
    found = mirror.found
    missing = sorted(wanted.keys() - found.keys())[:5]
    surplus = sorted(found.keys() - wanted.keys())[:5]
    other = sorted(path for path in wanted.keys() & found.keys() if wanted[path] != found[path])[:5]
    raise AssertionError(
        f"{len(found)} of {len(wanted)} indexed after {timeout:g} s; missing {missing}, surplus {surplus}, "
        f"other {other}"
    )


Contents = dict[str, tuple[str, str, str, tuple[tuple[tuple[str, ...], tuple[int, int], int], ...]]]
"""Path to content hash, title, text and chunks (heading, lines, tokens)."""


async def contents(client: RecallClient, repo: str) -> Contents:
    """Return all that an index says of a repo's documents, ids and times left out."""
    found: Contents = {}
    for path in await Mirror(client, repo).update():
        document = await client.get(wire.GetRequest(ref=path, repo=repo))
        chunks = tuple((chunk.heading, chunk.lines, chunk.tokens) for chunk in document.chunks)
        found[path] = (document.provenance.content_hash, document.title, document.text, chunks)
    return found


async def contents_from_scratch(state_dir: Path, root: Path, repo: str) -> Contents:
    """Index a directory with a daemon of its own and return what it says."""
    async with running(state_dir) as daemon, daemon.client() as client:
        await client.repo_add(wire.RepoAddRequest(path=str(root), name=repo))
        await until_indexed(client, repo, on_disk(root), timeout=120)
        return await contents(client, repo)


async def until(holds: Callable[[], Awaitable[bool]], timeout_s: float = 10.0) -> None:
    """Ask until something holds that no event tells of."""
    with anyio.fail_after(timeout_s):
        while not await holds():  # noqa: ASYNC110 - what is waited for happens in another process
            await anyio.sleep(0.02)
