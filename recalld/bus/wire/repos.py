"""``repo.add``, ``repo.list``, ``repo.remove`` and ``reindex``: what is watched."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from recalld.bus.wire.base import ErrorBody, Reply, Request


class ReindexRequest(Request):
    """Compare disk with index now. ``allow_prune`` lets a scan drop half a repo; ``force`` re-reads every file."""

    repo: str | None = None
    path: str | None = None
    allow_prune: bool = False
    force: bool = False


class ScanReport(Reply):
    """What one compare of a repo with the index found and did.

    ``excluded`` is told of single paths alone: those that the repo's rules leave out.
    """

    repo: str
    seen: int = 0
    changed: int = 0
    deleted: int = 0
    skipped: int = 0
    refused: int = 0
    unreadable: int = 0
    excluded: int = 0
    took_ms: float = 0.0
    error: ErrorBody | None = None
    last_seq: int = 0


class ReindexReply(Reply):
    """One report for each repo asked for."""

    reports: tuple[ScanReport, ...]


class RepoAddRequest(Request):
    """Watch a directory. ``path`` is absolute on ``node`` (default: the serving daemon's own)."""

    path: Annotated[str, Field(min_length=1, max_length=4_096)]
    name: str | None = None
    node: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    read_only: bool = False
    visible_to: tuple[str, ...] = ()


class RepoView(Reply):
    """A registered repo."""

    name: str
    path: str
    node: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    read_only: bool
    visible_to: tuple[str, ...]


class RepoReply(Reply):
    """The repo that was added or removed; ``documents`` counts what was dropped from the index on removal."""

    repo: RepoView
    documents: int = 0


class RepoListRequest(Request):
    """List repos, of one node or of all."""

    node: str | None = None


class RepoListReply(Reply):
    """The registered repos, by name."""

    repos: tuple[RepoView, ...]


class RepoRemoveRequest(Request):
    """Stop watching a repo and drop it from the index. Its files are not touched."""

    name: str
