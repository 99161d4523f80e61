"""The verbs ``put``, ``put.part``, ``documents`` and ``documents.remove``: documents from elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Protocol

import anyio
from anyio import to_thread

from recalld.bus import wire
from recalld.errors import BusyError, NotFoundError, RefusedError, TooLargeError, UsageError
from recalld.ingest.written import one_line
from recalld.lint.secrets import secrets
from recalld.model import Repo
from recalld.put.conversion import convert
from recalld.put.converted import Fetched, Job
from recalld.put.document import PutDocument, put_document, render
from recalld.put.media import media_of
from recalld.put.naming import stem_of, title_from
from recalld.put.plugins import FETCHERS, plugin
from recalld.put.urls import is_url, target_of
from recalld.serve.repo_files import RepoFiles
from recalld.serve.shelf import Shelf, standing
from recalld.settings import PutSettings
from recalld.store import Store
from recalld.store.puts import StoredPut

AT_ONCE = 2
"""Documents that are fetched and converted at once; each may take ``put.max_memory_bytes``."""
WAITING = 6
"""Documents that wait for that; more are refused as busy, so that searches always find a request free."""
PAGE = 20
"""Documents whose texts are looked at in one go."""


class Parts(Protocol):
    """Keeps the parts of documents until they are put."""

    async def put(self, content: bytes) -> str: ...
    async def get(self, name: str) -> bytes: ...
    async def delete(self, name: str) -> None: ...


@dataclass(slots=True)
class PutVerbs:
    """Takes documents in; ``limits`` are the settings that hold now."""

    store: Store
    files: RepoFiles
    parts: Parts
    limits: Callable[[], PutSettings]
    clock: Callable[[], datetime]
    shelf: Shelf = field(init=False)
    _room: anyio.CapacityLimiter = field(init=False)

    def __post_init__(self) -> None:
        self.shelf = Shelf(self.store, self.files)
        self._room = anyio.CapacityLimiter(AT_ONCE)

    async def part(self, agent: str, request: wire.PutPartRequest) -> wire.PutPartReply:
        """Keep a part of a document. Raises DependencyError."""
        return wire.PutPartReply(part=await self.parts.put(request.content))

    async def put(self, agent: str, request: wire.PutRequest) -> wire.PutReply:
        """Fetch or take, convert and write a document.

        Raises RefusedError for a repo that is read-only, a secret, a URL that must not be fetched and a file that a
        person edited, UsageError, NotFoundError, DocumentError, FetchError, TooLargeError, DeadlineError, BusyError,
        ConfigError where an extra is not installed, UnreachableError.
        """
        try:
            repo = await self.files.writable(agent, request.repo)
            source = _source(request, self.limits())
            if self._room.statistics().tasks_waiting >= WAITING:
                raise BusyError(
                    f"{AT_ONCE + WAITING} documents are being put in", suggestion="put it in a moment later"
                )
            async with self._room:
                return await self._put(agent, repo, source, request)
        finally:
            with anyio.CancelScope(shield=True):
                for name in request.parts:
                    await self.parts.delete(name)

    async def _put(self, agent: str, repo: Repo, source: str, request: wire.PutRequest) -> wire.PutReply:
        limits, begun = self.limits(), time.perf_counter()
        taken = await self._taken(source, request, limits)
        fetched = time.perf_counter()
        name = taken.url.partition("?")[0]
        media = media_of(taken.content, taken.media_type, name)
        url = taken.url if is_url(taken.url) and not taken.url.startswith("file:") else ""
        job = Job(name, url, taken.charset, limits.max_pages, limits.max_text_bytes)
        converted = await convert(media, taken.content, job, limits)
        done = time.perf_counter()
        title = one_line(request.title) or one_line(converted.title) or title_from(source)
        document = await to_thread.run_sync(
            partial(
                _made, title=title, source=source, media_type=media.value, at=self.clock(), content=taken.content,
                pages=converted.pages, agent=agent, text=converted.text,
            )
        )  # fmt: skip
        stem = stem_of(source, request.name)
        kept = await self.shelf.keep(repo, document, stem, media.suffix, replace=request.replace)
        moved = (f"the URL leads on to {taken.url}",) if url and url != source else ()
        return wire.PutReply(
            repo=repo.name, path=kept.path, title=document.title, source=source, action=kept.action,
            media_type=document.media_type, source_bytes=document.source_bytes, source_hash=document.source_hash,
            text_bytes=len(document.text.encode()), content_hash=kept.content_hash, pages=document.pages, seq=kept.seq,
            fetch_ms=(fetched - begun) * 1_000, convert_ms=(done - fetched) * 1_000,
            notes=(*converted.notes, *moved, *kept.notes),
        )  # fmt: skip

    async def _taken(self, source: str, request: wire.PutRequest, limits: PutSettings) -> Fetched:
        """Return the bytes that came with a request, or what its URL gives."""
        if request.content is None and not request.parts:
            fetch = await to_thread.run_sync(plugin, FETCHERS, "http")
            fetched: Fetched = await fetch(source, limits)
            return fetched
        content = bytearray(request.content or b"")
        for name in request.parts:
            content += await self.parts.get(name)
            if len(content) > limits.max_bytes:
                raise TooLargeError(
                    f"the document has more than {limits.max_bytes} bytes", suggestion="see put.max_bytes"
                )
        return Fetched(source, request.media_type, "", bytes(content))

    async def documents(self, agent: str, request: wire.DocumentsRequest) -> wire.DocumentsReply:
        """List what was put in, as far as the agent may see it. Raises NotFoundError for an unknown repo."""
        repos = await self.files.repos(agent, request.repo)
        after, views = _place(request.after), list[wire.DocumentView]()
        while len(views) < request.limit:
            wanted = min(PAGE, request.limit - len(views))
            rows = await self.store.puts.list([repo.id for repo in repos], after, wanted)
            if not rows:
                break
            after = rows[-1].repo, rows[-1].path
            views += await to_thread.run_sync(_views, rows)
            if len(rows) < wanted:
                return wire.DocumentsReply(documents=tuple(views))
        return wire.DocumentsReply(documents=tuple(views), next=":".join(after) if len(views) >= request.limit else "")

    async def remove(self, agent: str, request: wire.DocumentsRemoveRequest) -> wire.DocumentsRemoveReply:
        """Remove a put document's file.

        Raises NotFoundError, UsageError where several could be meant, RefusedError for a read-only repo and for a file
        that is a person's, or was edited by one.
        """
        repo, path = await self._meant(agent, request.ref, request.repo)
        if repo.read_only:
            raise RefusedError(f"{repo.name} is read-only", suggestion="recalld changes no files there")
        document, seq = await self.shelf.take(repo, path, edited=request.edited)
        return wire.DocumentsRemoveReply(repo=repo.name, path=path, source=document.source, seq=seq)

    async def _meant(self, agent: str, ref: str, name: str | None) -> tuple[Repo, str]:
        """Return the one place that a path, ``repo:path`` or a source means."""
        repos = await self.files.repos(agent, name)
        found = [(repo, path) for repo in repos for path in await self.store.puts.of_source(repo.id, ref)]
        if not found:
            places = [(repo, ref.removeprefix(f"{repo.name}:")) for repo in repos]
            found = [(repo, path) for repo, path in places if await self._is_there(repo, path)]
        if not found:
            raise NotFoundError(f"no put document {ref}", suggestion="`recall documents list` names them")
        if len(found) > 1:
            words = ", ".join(f"{repo.name}:{path}" for repo, path in found)
            raise UsageError(f"several documents could be meant: {words}", suggestion="give one of these")
        return found[0]

    async def _is_there(self, repo: Repo, path: str) -> bool:
        return bool(await self.files.read(repo, [path], large=True))


def _source(request: wire.PutRequest, limits: PutSettings) -> str:
    """Return the source as it is stored. Raises UsageError, RefusedError for a URL that may not be fetched."""
    source = one_line(request.source)
    has_bytes = request.content is not None or bool(request.parts)
    if is_url(source) and not source.casefold().startswith("file:"):
        if has_bytes:
            raise UsageError("bytes come along with a URL, as whose they would pass", suggestion="give a file's name")
        return target_of(source, limits.schemes).url
    if not has_bytes:
        raise UsageError(f"{source!r} is no URL, and no bytes come along", suggestion="send content, or parts")
    if not source.startswith(("file:", "stdin:")):
        raise UsageError(f"{source!r} is no source", suggestion="begin it with file: or stdin:")
    return source


def _made(**fields: Any) -> PutDocument:
    """Make a document. Raises RefusedError for one that holds what looks like a secret, in its text or in its URL."""
    document = put_document(**fields)
    for finding in secrets(document.source, render(document).decode()):
        raise RefusedError(
            f"the document is not put in: {finding.message}, line {finding.line}", suggestion="leave the secret out"
        )
    return document


def _place(after: str) -> tuple[str, str]:
    repo, _, path = after.partition(":")
    return repo, path


def _views(rows: Sequence[StoredPut]) -> list[wire.DocumentView]:
    return [view for row in rows if (view := _view(row)) is not None]


def _view(row: StoredPut) -> wire.DocumentView | None:
    found = standing(row.path, row.text, row.state)
    if found is None:
        return None
    document, state = found
    return wire.DocumentView(
        repo=row.repo, path=row.path, title=document.title, source=document.source, media_type=document.media_type,
        fetched_at=document.fetched_at, source_hash=document.source_hash, source_bytes=document.source_bytes,
        pages=document.pages, put_by=document.put_by, state=state,
    )  # fmt: skip
