"""One watched repo: takes hints, waits for git to be done, and has the right places compared."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio import CapacityLimiter

from recalld.bus.wire import ErrorBody, ReindexRequest, ScanReport
from recalld.errors import DependencyError, RecalldError
from recalld.model import Repo
from recalld.settings import WatchSettings
from recalld.watch.apply import TRANSIENT, Applier, Outcome, Tally
from recalld.watch.beliefs import Beliefs
from recalld.watch.compare import RACY_NS
from recalld.watch.disk import Problem, Root, RootGoneError
from recalld.watch.git import Git, LockIdentity, find_git
from recalld.watch.hints import Hints, collapse
from recalld.watch.ignore import Rules
from recalld.watch.ports import Clock, ManifestSource, Observer, Publisher
from recalld.watch.reconcile import Reconciler
from recalld.watch.reports import Reporter
from recalld.watch.sources import Target

log = logging.getLogger(__name__)

OFFLINE_S = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""How long to wait before a missing root is looked for again, each time longer; the last repeats."""
RETRY_S = (0.2, 0.5, 1.0, 2.0, 5.0)
"""The same for an index or a stream that does not answer."""
GIT_POLL_S = 0.05
SETTLED_S = RACY_NS / 1e9 + 0.1
"""After so long a file that was read just after it was written shows whether it was written once more (seconds)."""


@dataclass(slots=True)
class _Parts:
    """What exists while the root does."""

    root: Root
    applier: Applier
    reconciler: Reconciler
    git: Git | None
    commit: str | None = None


@dataclass(slots=True)
class RepoWatch:
    """Keeps the index equal to one directory.

    ``rearm`` asks the owner for a new event source: the root is another one now, or events were seen to be missing.
    ``jitter`` spreads the periodic scans; it returns a factor near 1.
    """

    repo: Repo
    settings: WatchSettings
    index: ManifestSource
    publisher: Publisher
    observer: Observer
    clock: Clock
    node: str
    rearm: Callable[[str], None]
    jitter: Callable[[], float]
    limiter: CapacityLimiter
    is_binary: Callable[[bytes], bool]
    watched_as: str = "scanning"
    _parts: _Parts | None = None
    _beliefs: Beliefs = field(default_factory=Beliefs)
    _hints: Hints = field(default_factory=Hints)
    _wake: anyio.Event = field(default_factory=anyio.Event)
    _turn: anyio.Lock = field(default_factory=anyio.Lock)
    _failures: int = 0
    _absences: int = 0
    _scan_due: float = 0.0
    _scanned_since_armed: bool = False
    _seen_lock: LockIdentity | None = None
    _reporter: Reporter = field(init=False)

    def __post_init__(self) -> None:
        self._reporter = Reporter(self.repo.name, self.observer)

    @property
    def trouble(self) -> str:
        """What keeps the repo from being watched or scanned, empty when nothing does."""
        own = next((problem.message for problem in self._reporter.problems if not problem.path), "")
        return f"{self.repo.name}: {own}" if own else ""

    def target(self) -> Target | None:
        """Return what an event source needs; None while there is no root."""
        if self._parts is None:
            return None
        parts = self._parts
        return Target(self.repo.name, parts.root, lambda: parts.applier.rules, parts.reconciler.fresh_rules)

    def hint(self, hints: Hints) -> None:
        """Take in where to look."""
        self._hints.add(hints)
        self._wake.set()

    def armed(self, state: str) -> None:
        """Be told that events are coming (``watching`` or ``polling``) from now on: what was before has to be found."""
        self.watched_as = state
        self._scanned_since_armed = False
        self.hint(Hints(lost=True))

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            if self._parts is None and not self._open():
                await self._rest(_nth(OFFLINE_S, self._absences))
                continue
            await self._rest(self._until_due())
            if self._parts is not None:
                async with self._turn:
                    await self._look()
            await self._reporter.flush()

    async def _rest(self, seconds: float) -> None:
        with anyio.move_on_after(max(seconds, 0)):
            await self._wake.wait()
        self._wake = anyio.Event()

    def _until_due(self) -> float:
        """Return the seconds until there is something to do without a hint."""
        assert self._parts is not None
        due = [self._scan_due, *(at + SETTLED_S for at in self._parts.applier.unsettled.values())]
        wait = min(due) - self.clock.monotonic()
        return max(wait, _nth(RETRY_S, self._failures - 1)) if self._failures else wait

    def _open(self) -> bool:
        """Find the root; tell the owner when there is one."""
        root = Root(Path(self.repo.path))
        try:
            root.open()
        except RootGoneError as error:
            self._go_offline(error)
            return False
        rules = Rules(Path(root.real), self.repo.include, self.repo.exclude)
        applier = Applier(
            self.repo.name,
            root,
            rules,
            self.publisher,
            self._beliefs,
            max_bytes=self.settings.max_file_bytes,
            concurrency=self.settings.concurrency,
            clock=self.clock,
            agent=self.node,
            is_binary=self.is_binary,
            limiter=self.limiter,
        )
        reconciler = Reconciler(
            self.repo, root, self.index, applier, self._beliefs, self._reporter, self.settings, self.clock, self.limiter
        )
        self._parts = _Parts(root, applier, reconciler, find_git(Path(root.real)))
        self._absences = 0
        self._reporter.clear_own("root_missing")
        self._reporter.state = "scanning"
        self._scan_due = float("inf")
        self.rearm(f"{self.repo.name} has a root")
        return True

    def _go_offline(self, error: RootGoneError) -> None:
        if self._parts is not None:
            self._parts = None
            self.rearm(f"{self.repo.name} lost its root")
        self._absences += 1
        self._reporter.state = "offline"
        reason = error.strerror or "is gone"
        self._reporter.raise_own(
            Problem(
                "",
                "root_missing",
                f"{self.repo.path} cannot be watched: {reason}; nothing was dropped",
                f"bring it back, or: recall repo remove {self.repo.name}",
            )
        )
        self._wake.set()

    async def _look(self) -> None:
        """Work off the hints, and a full scan when it is due."""
        assert self._parts is not None
        hints, self._hints = self._hints, Hints()
        unprompted = not hints
        if self.clock.monotonic() >= self._scan_due:
            hints.lost = True
        hints.paths |= self._settled_again(self._parts.applier)
        if not hints:
            return
        try:
            self._parts.root.verify()
            await self._git_is_done(self._parts)
            await self._compare(self._parts, hints, unprompted)
        except RootGoneError as error:
            self._hints.add(Hints(lost=True))
            self._go_offline(error)
        except TRANSIENT as error:
            self._again(hints, error)

    def _settled_again(self, applier: Applier) -> set[str]:
        """Return the files that were read while they might still have been written to, once that is long enough ago."""
        now = self.clock.monotonic()
        due = {path for path, at in applier.unsettled.items() if at + SETTLED_S <= now}
        for path in due:
            del applier.unsettled[path]
        return due

    async def _git_is_done(self, parts: _Parts) -> None:
        """Wait while a git command changes the tree; a lock that stays longer is a leftover and is not waited for."""
        if parts.git is None:
            return
        lock = parts.git.lock()
        if lock is None or lock == self._seen_lock:
            return
        with anyio.move_on_after(self.settings.git_lock_s):
            while (lock := parts.git.lock()) is not None:  # noqa: ASYNC110 - git sends no event that can be trusted
                await anyio.sleep(GIT_POLL_S)
        self._seen_lock = lock

    async def _compare(self, parts: _Parts, hints: Hints, unprompted: bool) -> None:
        if parts.git is None and hints.git:
            parts.git = find_git(Path(parts.root.real))
        head = parts.git.head() if parts.git else None
        moved = parts.commit is not None and head != parts.commit
        parts.commit = parts.applier.commit = self._reporter.commit = head
        singles, directories = collapse(hints.paths, self.settings.storm_paths)
        if hints.lost or hints.rules or hints.root or moved or "" in directories:
            await self._scan(parts, moved=moved, unprompted=unprompted and not moved)
            return
        if singles:
            self._note(await parts.reconciler.check(singles))
        for directory in sorted(directories):
            self._note((await parts.reconciler.scan(directory)).tally)

    async def _scan(
        self,
        parts: _Parts,
        *,
        moved: bool = False,
        allow_prune: bool = False,
        force: bool = False,
        unprompted: bool = False,
    ) -> ScanReport:
        """Compare everything. An ``unprompted`` scan that finds changes of long ago shows that events are missing."""
        self._reporter.state = "scanning"
        scanned = await parts.reconciler.scan(moved=moved, allow_prune=allow_prune, force=force)
        self._scan_due = self.clock.monotonic() + self.settings.scan_interval_s * self.jitter()
        self._reporter.state = self.watched_as
        if scanned.tally.error is None:
            self._reporter.scanned_at = self.clock.now()
        self._note(scanned.tally)
        if unprompted and self._scanned_since_armed and self.watched_as == "watching" and scanned.missed:
            self.rearm(f"{self.repo.name}: no event told of {scanned.missed[0]}")
        self._scanned_since_armed = scanned.tally.error is None
        return scanned.report

    def _note(self, tally: Tally) -> None:
        """Remember what has to be done again."""
        if tally.error is not None:
            paths = {work.path for work in (*tally.failed, *tally.deferred)}
            self._again(Hints(paths=paths, lost=len(paths) > self.settings.storm_paths), tally.error)
        else:
            self._failures = 0
            self._reporter.clear_own("index_unreachable")

    def _again(self, hints: Hints, error: Exception) -> None:
        self._hints.add(hints)
        self._failures += 1
        self._scan_due = min(self._scan_due, self.clock.monotonic() + _nth(RETRY_S, self._failures - 1))
        if self._failures in (1, len(RETRY_S)):
            log.warning("%s is compared again in a moment: %s", self.repo.name, error)
        if self._failures >= len(RETRY_S):
            self._reporter.raise_own(Problem("", "index_unreachable", f"files cannot be handed over: {error}"))

    async def scan(self, request: ReindexRequest) -> ScanReport:
        """Compare now, on request. Raises DependencyError while the root is missing or the index does not answer."""
        async with self._turn:
            if self._parts is None and not self._open():
                await self._reporter.flush()
                message = next(problem for problem in self._reporter.problems if problem.code == "root_missing")
                raise DependencyError(message.message, suggestion=message.hint)
            assert self._parts is not None
            parts = self._parts
            try:
                parts.root.verify()
                await self._git_is_done(parts)
                if request.path is not None:
                    return await self._check_one(parts, request.path, request.force)
                return await self._scan(parts, allow_prune=request.allow_prune, force=request.force)
            except RootGoneError as error:
                self._go_offline(error)
                raise DependencyError(
                    f"{self.repo.path} cannot be read: {error.strerror}; nothing was dropped",
                    suggestion=f"bring it back, or: recall repo remove {self.repo.name}",
                ) from error
            finally:
                await self._reporter.flush()

    async def _check_one(self, parts: _Parts, path: str, force: bool) -> ScanReport:
        began = self.clock.monotonic()
        tally = await parts.reconciler.check([path.strip("/")], force=force)
        self._note(tally)
        problem = next(iter(tally.problems.values()), None)
        error = problem and ErrorBody(code=problem.code, message=problem.message, suggestion=problem.hint)
        if isinstance(tally.error, RecalldError):
            error = ErrorBody(code=tally.error.code, message=tally.error.message, suggestion=tally.error.suggestion)
        return ScanReport(
            repo=self.repo.name,
            seen=len(tally.outcomes),
            changed=tally.count(Outcome.CHANGED),
            deleted=tally.count(Outcome.DELETED),
            skipped=tally.count(Outcome.SKIPPED),
            unreadable=tally.count(Outcome.UNREADABLE),
            took_ms=round((self.clock.monotonic() - began) * 1e3, 1),
            error=error,
            last_seq=tally.last.seq if tally.last else 0,
        )


def _nth(pauses: tuple[float, ...], number: int) -> float:
    return pauses[min(max(number, 0), len(pauses) - 1)]
