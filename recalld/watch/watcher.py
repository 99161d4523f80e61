"""The watcher of a node: one source of hints over all its repos, and one loop a repo that compares."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup, TaskStatus

from recalld.bus.internal import (
    ChangeReply,
    ChangeRequest,
    CreateReply,
    CreateRequest,
    FileChange,
    HashesReply,
    HashesRequest,
    ReadReply,
    ReadRequest,
)
from recalld.bus.wire import ReindexRequest, ScanReport
from recalld.errors import NotFoundError, RefusedError
from recalld.model import Repo
from recalld.settings import WatchSettings
from recalld.watch.changing import LARGEST, READ_BYTES, Change, Create, Move, Remove, Replace, change, hashes, read
from recalld.watch.creating import create
from recalld.watch.hints import Hints
from recalld.watch.keeper import Keeper
from recalld.watch.ports import Ports
from recalld.watch.repo_watch import RepoWatch
from recalld.watch.sources import Armed, EventSource, PollingSource, Source, Target


@dataclass(slots=True)
class _Watched:
    watch: RepoWatch
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    ended: anyio.Event = field(default_factory=anyio.Event)

    async def run(self) -> None:
        try:
            with self.scope:
                await self.watch.run()
        finally:
            self.ended.set()


class Watcher:
    """Keeps the index equal to the directories of this node's repos.

    ``jitter`` is a factor near 1 that spreads periodic scans; ``events`` takes the place of the kernel's.
    """

    def __init__(
        self,
        settings: WatchSettings,
        ports: Ports,
        *,
        jitter: Callable[[], float] = lambda: random.uniform(0.9, 1.1),
        events: Source | None = None,
    ) -> None:
        self._settings, self._ports, self._jitter = settings, ports, jitter
        self._watched: dict[str, _Watched] = {}
        self._group: TaskGroup | None = None
        self._keeper = Keeper(
            settings,
            ports.clock,
            self,
            events=events or EventSource(settings),
            polling=PollingSource(settings, ports.clock),
        )

    async def run(self, stop: anyio.Event, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Watch until ``stop`` is set. What was not handed over by then is found by the scan of the next start."""
        async with anyio.create_task_group() as group:
            self._group = group
            for watched in self._watched.values():
                group.start_soon(watched.run)
            group.start_soon(self._keeper.run)
            task_status.started()
            await stop.wait()
            group.cancel_scope.cancel()
        self._group = None

    async def add(self, repo: Repo) -> None:
        """Watch a repo from now on; one of the same name that was watched before is not watched any more."""
        await self.remove(repo.name)
        watched = _Watched(RepoWatch(repo, self._settings, self._ports, self._keeper.ask, self._jitter))
        self._watched[repo.name] = watched
        if self._group is not None:
            self._group.start_soon(watched.run)

    async def remove(self, name: str) -> None:
        """Stop watching a repo; returns when nothing of it will be published any more."""
        watched = self._watched.pop(name, None)
        if watched is None:
            return
        watched.scope.cancel()
        self._keeper.ask(f"{name} is no longer watched")
        if self._group is not None:
            await watched.ended.wait()

    async def scan(self, name: str, request: ReindexRequest) -> ScanReport:
        """Compare a repo now. Raises NotFoundError when it is not watched here, DependencyError when it cannot be."""
        return await self._watch(name).scan(request)

    async def create(self, request: CreateRequest) -> CreateReply:
        """Make a new file in a repo. Raises NotFoundError when it is not watched here, RefusedError, UsageError."""
        repo = self._writable(request.repo)
        await to_thread.run_sync(create, Path(repo.path), request.path, request.text)
        return CreateReply(path=request.path)

    async def change(self, request: ChangeRequest) -> ChangeReply:
        """Change files of a repo, all or none. Raises NotFoundError, RefusedError, UsageError, DependencyError."""
        repo = self._writable(request.repo)
        await to_thread.run_sync(change, Path(repo.path), [_change(each) for each in request.changes])
        return ChangeReply(changed=len(request.changes))

    async def read(self, request: ReadRequest) -> ReadReply:
        """Read files of a repo. Raises NotFoundError when it is not watched here, UsageError for a path outside."""
        repo = self._watch(request.repo).repo
        largest = LARGEST if request.large else READ_BYTES
        files, looked_at = await to_thread.run_sync(read, Path(repo.path), request.paths, largest)
        return ReadReply(files=files, read=looked_at)

    async def hashes(self, request: HashesRequest) -> HashesReply:
        """Say what files of a repo hold. Raises NotFoundError when it is not watched here, UsageError."""
        repo = self._watch(request.repo).repo
        return HashesReply(hashes=await to_thread.run_sync(hashes, Path(repo.path), request.paths))

    def _writable(self, name: str) -> Repo:
        repo = self._watch(name).repo
        if repo.read_only:
            raise RefusedError(f"{repo.name} is read-only", suggestion="recalld makes no files there")
        return repo

    def _watch(self, name: str) -> RepoWatch:
        watched = self._watched.get(name)
        if watched is None:
            raise NotFoundError(f"{name} is not watched by {self._ports.node}", suggestion="see `recall repo list`")
        return watched.watch

    def trouble(self) -> str:
        """Return what is wrong, in words; empty when nothing is."""
        own = f"no events: {self._keeper.trouble}" if self._keeper.trouble else ""
        return "; ".join(filter(None, (own, *(watched.watch.trouble for watched in self._watched.values()))))

    def summary(self) -> str:
        """Return one line on what is watched and how."""
        how = "polling" if self._keeper.polls else "watching"
        return f"{how} {len(self._watched)} repo{'s' if len(self._watched) != 1 else ''}"

    def is_alive(self) -> bool:
        """Tell whether the watcher still looks after its event source."""
        return self._group is None or self._keeper.is_alive

    def targets(self) -> Sequence[Target]:
        """Return the repos that have a root, for the keeper."""
        found = (watched.watch.target() for watched in self._watched.values())
        return [target for target in found if target is not None]

    def deliver(self, hints: Mapping[str, Hints]) -> None:
        """Take hints by repo, from the keeper."""
        for name, found in hints.items():
            if name in self._watched:
                self._watched[name].watch.hint(found)

    def armed(self, targets: Sequence[Target], directories: Armed, how: str, gapless: bool) -> None:
        """Be told by the keeper that ``targets`` are being watched from now on."""
        for target in targets:
            if target.name in self._watched:
                covered = None if directories is None else directories[target.name]
                self._watched[target.name].watch.armed(target, covered, how, gapless)


def _change(each: FileChange) -> Change:
    if each.action == "create":
        return Create(each.path, each.content)
    if each.action == "replace":
        return Replace(each.path, each.expected, each.content)
    if each.action == "remove":
        return Remove(each.path, each.expected)
    return Move(each.path, each.to, each.expected)
