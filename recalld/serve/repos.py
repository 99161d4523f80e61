"""The verbs ``repo.add``, ``repo.list``, ``repo.remove``, and ``manifest`` and ``observe`` for watching nodes."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath
from typing import Any

from recalld.bus import internal, wire
from recalld.bus.subjects import is_token
from recalld.errors import NotFoundError, UsageError
from recalld.model import Finding, ManifestEntry, Repo
from recalld.store import Store

Announce = Callable[[str, Mapping[str, Any]], Awaitable[None]]


@dataclass(slots=True)
class RepoVerbs:
    """Keeps the register of repos, and tells watching nodes what the index believes of them."""

    store: Store
    node: str
    announce: Announce
    clock: Callable[[], datetime]

    async def add(self, agent: str, request: wire.RepoAddRequest) -> wire.RepoReply:
        """Register a repo; the node that watches it hears of it at once. Adding the same one again changes nothing."""
        path = PurePath(request.path)
        if not path.is_absolute():
            raise UsageError(f"{request.path} is not an absolute path", suggestion="give the path from /")
        name = request.name or re.sub(r"[^A-Za-z0-9_-]+", "-", path.name).strip("-")
        if not is_token(name):
            raise UsageError(f"{name!r} cannot name a repo", suggestion="use --name with letters, digits, - and _")
        repo = Repo(
            name=name,
            path=str(path),
            node=request.node or self.node,
            include=request.include,
            exclude=request.exclude,
            read_only=request.read_only,
            visible_to=request.visible_to,
        )
        known = await self.store.repos.get(name)
        if known is not None and (known.path, known.node) != (repo.path, repo.node):
            raise UsageError(
                f"{name} already names {known.path} on {known.node}",
                suggestion="give another --name, or remove that one",
            )
        stored = await self.store.repos.add(repo, by=agent, at=self.clock())
        if known is None or _view(known) != _view(stored):
            await self.announce("repo.added", {"repo": name, "path": repo.path, "node": repo.node, "agent": agent})
        return wire.RepoReply(repo=_view(stored))

    async def list(self, agent: str, request: wire.RepoListRequest) -> wire.RepoListReply:
        """List the repos that the agent may see."""
        return wire.RepoListReply(
            repos=tuple(
                _view(repo)
                for repo in await self.store.repos.list(node=request.node)
                if not repo.visible_to or agent in repo.visible_to or agent == repo.node
            )
        )

    async def remove(self, agent: str, request: wire.RepoRemoveRequest) -> wire.RepoReply:
        """Drop a repo from the register and the index. Its files stay."""
        repo = await self._repo(request.name)
        dropped = await self.store.repos.remove(request.name)
        await self.announce("repo.removed", {"repo": repo.name, "node": repo.node, "agent": agent})
        return wire.RepoReply(repo=_view(repo), documents=dropped)

    async def manifest(self, agent: str, request: internal.ManifestRequest) -> internal.ManifestReply:
        """Tell a watching node what the index believes, a page at a time or for named paths."""
        repo = await self._repo(request.repo)
        if request.paths is not None:
            entries = await self.store.documents.manifest_of(repo.id, request.paths)
            return internal.ManifestReply(entries=tuple(_row(entry) for entry in entries), next=None)
        entries = await self.store.documents.manifest(repo.id, after=request.after, limit=request.limit)
        following = entries[-1].path if len(entries) == request.limit else None
        return internal.ManifestReply(entries=tuple(_row(entry) for entry in entries), next=following)

    async def observe(self, agent: str, request: internal.ObserveRequest) -> internal.ObserveReply:
        """Store what a watching node says of its repo and of single files."""
        repo = await self._repo(request.repo)
        await self.store.repos.observe(
            repo.name, state=request.state, commit=request.commit, scanned_at=request.scanned_at
        )
        by_path: dict[str, list[Finding]] = {path: [] for path in request.cleared}
        for view in request.findings:
            by_path.setdefault(view.path, []).append(
                Finding(repo.name, view.path, view.code, view.severity, view.message, view.hint, view.line, view.key)
            )
        if request.complete:
            await self.store.findings.clear_others(repo.name, "watch", list(by_path))
        for path, findings in sorted(by_path.items()):
            await self.store.findings.replace(repo.name, path, "watch", findings, at=self.clock())
        return internal.ObserveReply(stored=len(request.findings))

    async def _repo(self, name: str) -> Repo:
        repo = await self.store.repos.get(name)
        if repo is None:
            raise NotFoundError(f"no repo {name}", suggestion="`recall repo list` names them")
        return repo


def _view(repo: Repo) -> wire.RepoView:
    return wire.RepoView(
        name=repo.name,
        path=repo.path,
        node=repo.node,
        include=repo.include,
        exclude=repo.exclude,
        read_only=repo.read_only,
        visible_to=repo.visible_to,
    )


def _row(entry: ManifestEntry) -> tuple[Any, ...]:
    stat = entry.stat
    return (
        entry.path,
        entry.state,
        entry.content_hash,
        (stat.size, stat.mtime_ns, stat.ctime_ns, stat.inode) if stat else None,
        entry.position.epoch,
        entry.position.seq,
    )
