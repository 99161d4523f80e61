"""Waiting for a daemon's index to say what it should; on its events, with a question each second besides."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import anyio

from recalld.bus import wire
from recalld.bus.client import RecallClient
from recalld.errors import DeadlineError, DependencyError, UnreachableError
from recalld.model import DocumentState
from tests.support.daemon import running
from tests.support.repos import on_disk


async def indexed(client: RecallClient, repo: str) -> dict[str, str]:
    """Return path to content hash of every indexed document of a repo."""
    found: dict[str, str] = {}
    cursor, more = "", True
    while more:
        page = await client.delta(wire.DeltaRequest(since=cursor, limit=5_000, repo=repo))
        for change in page.changes:
            if change.state is DocumentState.INDEXED:
                found[change.path] = change.content_hash
            else:
                found.pop(change.path, None)
        cursor, more = page.cursor, page.more
    return found


async def until_indexed(client: RecallClient, repo: str, wanted: Mapping[str, str], timeout: float = 60.0) -> None:
    """Wait until a repo's index holds exactly ``wanted``; on a timeout say what differs."""
    found: dict[str, str] = {}
    with anyio.move_on_after(timeout):
        async with client.follow() as events:
            while True:
                with suppress(DependencyError, UnreachableError, DeadlineError):  # a server that was killed comes back
                    found = await indexed(client, repo)
                    if found == wanted:
                        return
                with anyio.move_on_after(1.0):
                    await anext(events)
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
    for path in await indexed(client, repo):
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
