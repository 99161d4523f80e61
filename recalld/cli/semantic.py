"""What only meaning finds: decisions that are near each other and that nobody connects, asked of the daemon."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from recalld.errors import NotFoundError
from recalld.lint.catalogue import found
from recalld.trust.compare import SAME_MATTER, shared_matter

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from recalld.bus import wire
    from recalld.bus.client import RecallClient
    from recalld.model import Finding

KIND = "decision"
NEAR = 4
"""Hits of each decision's own title that are looked at."""


async def probable_supersessions(client: RecallClient, root: Path) -> list[Finding]:
    """Return pairs of decisions on one matter that both still hold, each pair once, on the one first by path.

    ``root`` is a resolved path. Raises NotFoundError where the daemon does not watch it: then meaning is not compared.
    """
    told: dict[tuple[str, str], Finding] = {}
    name = _repo_at((await client.repo_list()).repos, root)
    for path, title, repo in await _decisions(client):
        if repo != name:
            continue
        reply = await client.search(title, k=NEAR, kind=(KIND,), repo=(repo,), receipt=False)
        for hit in reply.hits:
            pair = (min(path, hit.path), max(path, hit.path))
            if hit.path != path and pair not in told and _on_one_matter(title, hit):
                message = f"{pair[1]} is on the same matter, and both hold: {hit.title!r}"
                told[pair] = found("probable-supersession", pair[0], message)
    return list(told.values())


def _repo_at(repos: Iterable[wire.RepoView], root: Path) -> str:
    for view in repos:
        if os.path.realpath(view.path) == str(root):
            return view.name
    raise NotFoundError(
        f"the daemon does not watch {root}, so meaning cannot be compared",
        suggestion="give a watched directory, or leave out --semantic",
    )


def _on_one_matter(title: str, hit: wire.Hit) -> bool:
    connected = hit.validity.supersedes or hit.validity.superseded_by
    return not connected and shared_matter(title, hit.title) >= SAME_MATTER


async def _decisions(client: RecallClient) -> list[tuple[str, str, str]]:
    """Return path, title and repo of every indexed decision."""
    found_: list[tuple[str, str, str]] = []
    cursor, more = "", True
    while more:
        page = await client.delta(since=cursor, limit=1_000)
        for change in page.changes:
            if change.state == "indexed":
                document = await client.get(change.path, repo=change.repo)
                if document.kind == KIND:
                    found_.append((document.path, document.title, document.repo))
        cursor, more = page.cursor, page.more
    return found_
