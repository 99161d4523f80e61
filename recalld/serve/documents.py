"""The verbs ``get``, ``forget`` and ``delta``: single documents and what changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from recalld.bus import wire
from recalld.errors import NotFoundError, RefusedError, UsageError
from recalld.model import Finding, Repo
from recalld.store import Store, StoredDocument

Rescan = Callable[[Repo, str], Awaitable[None]]
"""Asks the watching node to look at one path of a repo again."""


@dataclass(slots=True)
class DocumentVerbs:
    """Fetches, forgets and lists documents, as far as the asking agent may see them."""

    store: Store
    rescan: Rescan
    clock: Callable[[], datetime]

    async def get(self, agent: str, request: wire.GetRequest) -> wire.GetReply:
        """Return a document whole, by path or by the id of a hit."""
        document = await self.find(agent, request.ref, request.repo)
        findings = await self.store.findings.list(repo=document.repo, path=document.path)
        return _document(document, findings)

    async def forget(self, agent: str, request: wire.ForgetRequest) -> wire.ForgetReply:
        """Drop a document's text from the index and keep it out, or let it back in."""
        if request.undo:
            return await self._undo(agent, request)
        document = await self.find(agent, request.ref, request.repo)
        repo = await self._repo(agent, document.repo)
        chunks = await self.store.documents.forget(repo.id, document.path, by=agent, at=self.clock())
        return wire.ForgetReply(repo=repo.name, path=document.path, chunks=chunks)

    async def delta(self, agent: str, request: wire.DeltaRequest) -> wire.DeltaReply:
        """List the newest state of what changed since a cursor, in commit order."""
        changes, cursor, more = await self.store.documents.delta(
            request.since, limit=request.limit, repo=request.repo, agent=agent
        )
        return wire.DeltaReply(
            changes=tuple(
                wire.Change(
                    repo=change.repo,
                    path=change.path,
                    state=change.state,
                    content_hash=change.content_hash,
                    seq=change.position.seq,
                    at=change.at,
                )
                for change in changes
            ),
            cursor=cursor,
            more=more,
        )

    async def _undo(self, agent: str, request: wire.ForgetRequest) -> wire.ForgetReply:
        name, path = _split(request.ref, request.repo)
        repo = await self._only_repo(agent, name)
        if not await self.store.documents.unforget(repo.id, path, by=agent, at=self.clock()):
            raise NotFoundError(f"{repo.name}:{path} is not forgotten", suggestion="`recall stats` counts what is")
        await self.rescan(repo, path)
        return wire.ForgetReply(repo=repo.name, path=path, chunks=0, undone=True)

    async def find(self, agent: str, ref: str, repo: str | None) -> StoredDocument:
        """Return the document that a reference means. Raises NotFoundError, UsageError where it may be several."""
        if ref.isdecimal():
            found = await self.store.documents.of_chunk(int(ref))
            if found is not None and await self._visible(agent, found.repo):
                return found
        name, path = _split(ref, repo)
        matches = [
            document
            for candidate in await self._visible_repos(agent, name)
            if (document := await self.store.documents.get(candidate.name, path)) is not None
        ]
        if len(matches) > 1:
            places = ", ".join(f"{match.repo}:{match.path}" for match in matches)
            raise UsageError(f"{path} is in several repos: {places}", suggestion="name one with --repo")
        if not matches:
            raise NotFoundError(f"no document {ref}", suggestion="give its path in the repo, repo:path, or a hit's id")
        return matches[0]

    async def _visible_repos(self, agent: str, name: str | None) -> list[Repo]:
        return [
            repo
            for repo in await self.store.repos.list()
            if name in (None, repo.name) and (not repo.visible_to or agent in repo.visible_to)
        ]

    async def _visible(self, agent: str, name: str) -> bool:
        return any(repo.name == name for repo in await self._visible_repos(agent, name))

    async def _repo(self, agent: str, name: str) -> Repo:
        repos = await self._visible_repos(agent, name)
        if not repos:
            raise NotFoundError(f"no repo {name}", suggestion="`recall repo list` names them")
        return repos[0]

    async def _only_repo(self, agent: str, name: str | None) -> Repo:
        repos = await self._visible_repos(agent, name)
        if len(repos) == 1:
            return repos[0]
        if not repos:
            raise NotFoundError(f"no repo {name or ''}".rstrip(), suggestion="`recall repo list` names them")
        raise RefusedError("several repos could be meant", suggestion="name one with --repo")


def _split(ref: str, repo: str | None) -> tuple[str | None, str]:
    """Take ``repo:path`` apart; a path may itself hold colons when the repo is given apart."""
    if repo is None and ":" in ref:
        name, path = ref.split(":", 1)
        return name, path
    return repo, ref


def _document(document: StoredDocument, findings: list[Finding]) -> wire.GetReply:
    return wire.GetReply(
        id=str(document.id),
        repo=document.repo,
        path=document.path,
        title=document.title,
        kind=document.kind,
        tags=document.tags,
        aliases=document.aliases,
        metadata=dict(document.metadata),
        text=document.text,
        chunks=tuple(
            wire.ChunkView(id=str(chunk.id), heading=chunk.heading, lines=chunk.lines, tokens=chunk.tokens)
            for chunk in document.chunks
        ),
        edges=tuple(wire.EdgeView.model_validate(edge) for edge in document.edges),
        findings=tuple(wire.FindingView.model_validate(finding) for finding in findings),
        provenance=wire.Provenance.model_validate(document),
        modified_at=document.modified_at,
    )
