"""A watcher on real directories with an index in memory, and waiting for what it does."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from pathlib import Path

import anyio
import anyio.lowlevel

from recalld.ingest.content import is_binary
from recalld.model import (
    DocumentState,
    Finding,
    ManifestEntry,
    Operation,
    Position,
    Repo,
    Snapshot,
)
from recalld.settings import WatchSettings
from recalld.watch.ports import Clock, Ports
from recalld.watch.sources import Source
from recalld.watch.watcher import Watcher

PATIENCE_S = 20.0
_STATES = {Operation.DELETE: DocumentState.DELETED, Operation.UPSERT: DocumentState.INDEXED}


class MemoryIndex:
    """Source of manifests, publisher and observer in one: rows are guarded by position, as in the store.

    With ``lags`` set what is published waits until :meth:`catch_up`. ``refuses`` is raised for whatever is asked, or
    for single paths that are published when ``bad`` names them.
    """

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, ManifestEntry]] = {}
        self.contents: dict[tuple[str, str], bytes | None] = {}
        self.published: list[Snapshot] = []
        self.findings: dict[tuple[str, str], tuple[Finding, ...]] = {}
        self.states: list[str] = []
        self.commits: dict[str, str | None] = {}
        self.scans: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.lags = False
        self.refuses: Exception | None = None
        self.bad: Mapping[str, Exception] = {}
        self.epoch = 1
        self._seq = 0
        self._waiting: list[tuple[Snapshot, Position]] = []
        self._changed = anyio.Event()

    async def manifest(self, repo: str) -> Mapping[str, ManifestEntry]:
        self._ask(f"manifest {repo}")
        return dict(self.rows.get(repo, {}))

    async def entries(self, repo: str, paths: Sequence[str]) -> Mapping[str, ManifestEntry]:
        self._ask(f"entries {repo}")
        rows = self.rows.get(repo, {})
        return {path: rows[path] for path in paths if path in rows}

    async def publish(self, snapshot: Snapshot) -> Position:
        self._ask("publish")
        await anyio.lowlevel.checkpoint()
        if snapshot.path in self.bad:
            raise self.bad[snapshot.path]
        self._seq += 1
        position = Position(self.epoch, self._seq)
        self.published.append(snapshot)
        self._waiting.append((snapshot, position))
        if not self.lags:
            self.catch_up()
        self._notify()
        return position

    async def observe(
        self,
        repo: str,
        *,
        state: str | None = None,
        commit: str | None = None,
        scanned_at: datetime | None = None,
        findings: Sequence[Finding] = (),
        cleared: Sequence[str] = (),
        complete: bool = False,
    ) -> None:
        self._ask("observe")
        paths = {finding.path for finding in findings}
        for known in [key for key in self.findings if key[0] == repo]:
            if known[1] in paths or known[1] in cleared or complete:
                del self.findings[known]
        for path in paths:
            self.findings[repo, path] = tuple(finding for finding in findings if finding.path == path)
        if state is not None and self.states[-1:] != [state]:
            self.states.append(state)
        if commit is not None:
            self.commits[repo] = commit
        if scanned_at is not None:
            self.scans[repo] += 1
        self._notify()

    def catch_up(self) -> None:
        """Index what was published; a row of a later position stays, and so does a forgotten one."""
        for snapshot, position in self._waiting:
            rows = self.rows.setdefault(snapshot.repo, {})
            known = rows.get(snapshot.path)
            if known is not None and (known.position > position or known.state is DocumentState.FORGOTTEN):
                continue
            state = DocumentState.SKIPPED if snapshot.skip else _STATES[snapshot.operation]
            rows[snapshot.path] = ManifestEntry(snapshot.path, state, snapshot.content_hash, snapshot.stat, position)
            self.contents[snapshot.repo, snapshot.path] = snapshot.content
        self._waiting.clear()
        self._notify()

    def documents(self, repo: str = "memory") -> dict[str, str]:
        """Return path to content hash of what is indexed."""
        rows = self.rows.get(repo, {}).values()
        return {row.path: row.content_hash for row in rows if row.state is DocumentState.INDEXED}

    def codes(self, repo: str = "memory") -> dict[str, set[str]]:
        """Return the codes of the findings by path."""
        return {
            path: {finding.code for finding in findings} for (of, path), findings in self.findings.items() if of == repo
        }

    def count(self, path: str, operation: Operation = Operation.UPSERT) -> int:
        """Return how often a path was published."""
        return sum(1 for snapshot in self.published if snapshot.path == path and snapshot.operation is operation)

    async def until(self, condition: Callable[[], object], what: str = "", patience: float = PATIENCE_S) -> None:
        """Wait for a condition on what was published, indexed or reported."""
        with anyio.move_on_after(patience):
            while not condition():
                await self._changed.wait()
            return
        raise AssertionError(f"{what or 'it'} did not happen; published {self.published[-5:]}, found {self.codes()}")

    async def until_equal(self, root: Path, repo: str = "memory", ignored: Sequence[str] = ()) -> None:
        """Wait until what is indexed equals what is on disk, ``ignored`` paths aside."""

        def equal() -> bool:
            return self.documents(repo) == hashes(root, ignored)

        with anyio.move_on_after(PATIENCE_S):
            while not equal():
                await self._changed.wait()
            return
        here, there = hashes(root, ignored), self.documents(repo)
        differing = sorted(path for path in here.keys() | there.keys() if here.get(path) != there.get(path))
        raise AssertionError(f"differ: {differing[:10]} of {len(differing)}; {len(here)} on disk, found {self.codes()}")

    def _ask(self, what: str) -> None:
        self.asked[what] += 1
        if self.refuses is not None:
            self._notify()
            raise self.refuses

    def _notify(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()


def hashes(root: Path, ignored: Sequence[str] = ()) -> dict[str, str]:
    """Return path to sha256 of the files below a directory, git's own left out."""
    found = {}
    for path in root.rglob("*"):
        name = path.relative_to(root).as_posix()
        if name in ignored or ".git" in path.relative_to(root).parts or path.is_symlink() or not path.is_file():
            continue
        found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def repo_at(root: Path, name: str = "memory", **fields: tuple[str, ...]) -> Repo:
    """Return a repo of the tests' node."""
    return Repo(name, str(root), "node", **fields)  # type: ignore[arg-type]


def settings(**changed: object) -> WatchSettings:
    """Return settings under which nothing but events makes anything happen within a test."""
    return WatchSettings.model_validate({"scan_interval_s": 3_600, "debounce_ms": 200, "step_ms": 10, **changed})


def ports(index: MemoryIndex, clock: Clock | None = None) -> Ports:
    """Return an index as what a watcher works with."""
    return Ports("node", index, index, index, is_binary, clock or Clock())


@asynccontextmanager
async def watching(
    index: MemoryIndex,
    *repos: Repo,
    clock: Clock | None = None,
    events: Source | None = None,
    **changed: object,
) -> AsyncIterator[Watcher]:
    """Run a watcher until the block ends; each root that is there has been armed and scanned when it begins."""
    watcher = Watcher(settings(**changed), ports(index, clock), jitter=lambda: 1.0, events=events)
    stop = anyio.Event()
    async with anyio.create_task_group() as group:
        await group.start(watcher.run, stop)
        for repo in repos:
            await watcher.add(repo)
        for repo in repos:
            if Path(repo.path).is_dir():
                await index.until(partial(index.scans.get, repo.name), f"the first scan of {repo.name}")
        try:
            yield watcher
        finally:
            stop.set()
