"""The verb ``supersede``: one call writes the edge, in a file of ours; a person's files stay as they are."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import yaml

from recalld.bus import wire
from recalld.errors import NotFoundError, RefusedError
from recalld.model import Repo
from recalld.serve.documents import DocumentVerbs
from recalld.store import Store, StoredDocument
from recalld.trust.graph import Graph
from recalld.trust.names import stem_of
from recalld.trust.standing import Status

FOLDER = "supersessions"
_NOT_PLAIN = re.compile(r"[^\w.-]+")
Scan = Callable[[Repo, wire.ReindexRequest], Awaitable[wire.ScanReport]]


class Files(Protocol):
    """Makes new files in repos, wherever those are."""

    async def create(self, repo: Repo, path: str, text: str) -> None: ...


@dataclass(slots=True)
class SupersedeVerb:
    """Records that one document replaced another, where that would have an effect."""

    store: Store
    documents: DocumentVerbs
    files: Files
    scan: Scan
    clock: Callable[[], datetime]

    async def __call__(self, agent: str, request: wire.SupersedeRequest) -> wire.SupersedeReply:
        """Write the record and have it looked at. Raises NotFoundError, RefusedError, UnreachableError."""
        old = await self.documents.find(agent, request.old, request.repo)
        new = await self.documents.find(agent, request.new, request.repo)
        repo = await self.store.repos.get(old.repo)
        if repo is None:
            raise NotFoundError(f"no repo {old.repo}", suggestion="`recall repo list` names them")
        if await self._stands_already(repo, old, new, dry_run=request.dry_run):
            return wire.SupersedeReply(repo=repo.name, old=old.path, new=new.path, record="", already=True)
        if request.dry_run:
            return wire.SupersedeReply(repo=repo.name, old=old.path, new=new.path, record="")
        path, text = _path(old.path, new.path), _record(old, new, agent, request.why, self.clock())
        await self.files.create(repo, path, text)
        report = await self.scan(repo, wire.ReindexRequest(repo=repo.name, path=path))
        return wire.SupersedeReply(repo=repo.name, old=old.path, new=new.path, record=path, seq=report.last_seq)

    async def _stands_already(self, repo: Repo, old: StoredDocument, new: StoredDocument, *, dry_run: bool) -> bool:
        """Tell whether the memory says so already. Raises RefusedError where it should not, or it would do nothing."""
        if old.id == new.id:
            raise RefusedError("a document cannot replace itself", suggestion="name the one that replaced it")
        if old.repo != new.repo:
            raise RefusedError(f"{old.path} and {new.path} are in different repos", suggestion="claims hold within one")
        graph = Graph(await self.store.standings.around([old.id, new.id]))
        now = self.clock()
        if graph.members[new.id].standing.status is Status.UNADOPTED:
            written = graph.members[new.id].standing.written
            raise RefusedError(
                f"{new.path} is {written!r}: what was never in force replaces nothing",
                suggestion="change its status first",
            )
        if (further := graph.succession(new.id, now, None)) is not None:
            last = graph.members[further.terminal].path if further.terminal is not None else further.direct.name
            raise RefusedError(f"{new.path} was itself replaced, by {last}", suggestion="name that one as the new one")
        found = graph.succession(old.id, now, None)
        if found is not None and found.direct.new == new.id:
            return True
        if repo.read_only and not dry_run:
            raise RefusedError(f"{repo.name} is read-only", suggestion="declare it in the file itself: `supersedes:`")
        return False


def _path(old: str, new: str) -> str:
    names = (_NOT_PLAIN.sub("-", stem_of(path)).strip("-.")[:80] or "memo" for path in (old, new))
    return f"{FOLDER}/{'-replaced-by-'.join(names)}.md"


def _record(old: StoredDocument, new: StoredDocument, agent: str, why: str, at: datetime) -> str:
    front = {
        "title": f"{new.title} replaces {old.title}",
        "kind": "supersession",
        "old": old.path,
        "new": new.path,
        "recorded_by": agent,
        "recorded_at": at.isoformat(timespec="seconds"),
    }
    head = yaml.safe_dump(front, allow_unicode=True, sort_keys=False, width=10_000)
    reason = f"\n{why.strip()}\n" if why.strip() else ""
    return f"---\n{head}---\n`{old.path}` no longer holds: `{new.path}` took its place.\n{reason}"
