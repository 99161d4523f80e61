"""Where put documents stand: the file of a source, found again, written, and taken away; a person's files stay."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal

from anyio import to_thread

from recalld.bus import wire
from recalld.errors import NotFoundError, RecalldError, RefusedError
from recalld.model import DocumentState, Repo
from recalld.put.document import PutDocument, read_put, render
from recalld.put.naming import place
from recalld.serve.repo_files import RepoFiles
from recalld.store import Store
from recalld.watch.changing import Create, Remove, Replace

NAMES = 100
"""Sources that may give the same file name."""
REMEMBERED = 1_000
"""Sources whose files are known before the index knows them."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of a put: the path, ``created``, ``updated`` or ``unchanged``, the file's hash, its sequence."""

    path: str
    action: Literal["created", "updated", "unchanged"]
    content_hash: str
    seq: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """A put document's file, as it is on disk now."""

    path: str
    content: bytes
    document: PutDocument


@dataclass(slots=True)
class Shelf:
    """Finds and changes the files of put documents."""

    store: Store
    files: RepoFiles
    _recent: dict[tuple[int, str], str] = field(default_factory=dict)

    async def keep(self, repo: Repo, document: PutDocument, stem: str, suffix: str, *, replace: bool) -> Kept:
        """Write a document, or bring the file of its source up to date.

        Raises RefusedError for a file that a person edited, unless ``replace``, and for one that was forgotten.
        """
        content = await to_thread.run_sync(render, document)
        async with self.files.turn(repo):
            found = await self._found(repo, document.source, stem, suffix)
            if isinstance(found, Found):
                return await self._again(repo, found, document, content, replace=replace)
            path, seq = await self._created(repo, found, content, stem, suffix)
            self._remember(repo, document.source, path)
            return Kept(path, "created", _hash(content), seq, await self._notes(repo, path))

    async def take(self, repo: Repo, path: str, *, edited: bool) -> tuple[PutDocument, int]:
        """Remove a put document's file; return what it was, and the sequence of its removal.

        Raises NotFoundError where there is no file, RefusedError for a file of a person, or one that a person edited.
        """
        async with self.files.turn(repo):
            content = (await self.files.read(repo, [path], large=True)).get(path)
            if content is None:
                raise NotFoundError(f"{repo.name} has no file {path}", suggestion="`recall documents list` names them")
            document = await to_thread.run_sync(read_put, path, content)
            if document is None:
                raise RefusedError(f"{path} was not put in by recalld", suggestion="remove the file yourself")
            if not document.untouched and not edited:
                raise RefusedError(f"{path} was edited since it was put in", suggestion="add --edited to remove it")
            return document, await self.files.change(repo, [Remove(path, _hash(content))])

    async def _found(self, repo: Repo, source: str, stem: str, suffix: str) -> Found | int:
        """Return the file of a source, else the number of the first name that is free."""
        known = [self._recent.get((repo.id, source), ""), *await self.store.puts.of_source(repo.id, source)]
        for path in dict.fromkeys(filter(None, known)):
            if (found := await self._read(repo, path)) is not None and found.document.source == source:
                return found
        for number in range(1, NAMES + 1):
            path = place(stem, suffix, number)
            there = await self.files.read(repo, [path], large=True)
            if path not in there:
                return number
            document = await to_thread.run_sync(read_put, path, there[path])
            if document is not None and document.source == source:
                return Found(path, there[path], document)
        raise _full(stem)

    async def _read(self, repo: Repo, path: str) -> Found | None:
        content = (await self.files.read(repo, [path], large=True)).get(path)
        if content is None:
            return None
        document = await to_thread.run_sync(read_put, path, content)
        return Found(path, content, document) if document is not None else None

    async def _again(self, repo: Repo, found: Found, document: PutDocument, content: bytes, *, replace: bool) -> Kept:
        await self._refuse_forgotten(repo, found.path)
        if not found.document.untouched and not replace:
            raise RefusedError(
                f"{repo.name}:{found.path} was edited since it was put in; it is left as it is",
                suggestion="--replace puts the new text in its place",
            )
        if found.document.untouched and found.document.says_as(document):
            return Kept(found.path, "unchanged", _hash(found.content), notes=await self._notes(repo, found.path))
        seq = await self.files.change(repo, [Replace(found.path, _hash(found.content), content)])
        return Kept(found.path, "updated", _hash(content), seq, await self._notes(repo, found.path))

    async def _created(self, repo: Repo, first: int, content: bytes, stem: str, suffix: str) -> tuple[str, int]:
        """Make the file under the first name that is free; return its path and sequence."""
        for number in range(first, NAMES + 1):
            path = place(stem, suffix, number)
            await self._refuse_forgotten(repo, path)
            try:
                return path, await self.files.change(repo, [Create(path, content)])
            except RefusedError:  # something that cannot be read stands there, or was put there just now
                if number == NAMES:
                    raise
        raise _full(stem)

    async def _refuse_forgotten(self, repo: Repo, path: str) -> None:
        if await self.store.puts.state(repo.id, path) == DocumentState.FORGOTTEN:
            raise RefusedError(
                f"{repo.name}:{path} was forgotten on request", suggestion=f"recall forget --undo {repo.name}:{path}"
            )

    async def _notes(self, repo: Repo, path: str) -> tuple[str, ...]:
        """Say so where a file will not be indexed, or not now. It stands already: that is no error any more."""
        try:
            report = await self.files.scan(repo, wire.ReindexRequest(repo=repo.name, path=path))
        except RecalldError as error:
            return (f"it is indexed when its node gets to it: {error.message}",)
        return ("the repo's rules leave this file out: it is not indexed",) if report.excluded else ()

    def _remember(self, repo: Repo, source: str, path: str) -> None:
        self._recent[repo.id, source] = path
        while len(self._recent) > REMEMBERED:
            del self._recent[next(iter(self._recent))]


def standing(path: str, text: str, state: str) -> tuple[PutDocument, str] | None:
    """Return what an indexed file says, and ``ok``, ``edited``, or the index's state; None for no put document."""
    document = read_put(path, text.encode("utf-8", "surrogatepass"))
    if document is None:
        return None
    own = "ok" if document.untouched else "edited"
    return document, own if state == DocumentState.INDEXED else state


def _full(stem: str) -> RefusedError:
    return RefusedError(f"{NAMES} documents are named {stem} already", suggestion="give it another --name")


def _hash(content: bytes) -> str:
    return sha256(content).hexdigest()
