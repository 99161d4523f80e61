"""One watched repo: takes hints, waits for git to be done, and has the right places compared."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio import CapacityLimiter, to_thread

from recalld.bus.wire import ErrorBody, ReindexRequest, ScanReport
from recalld.errors import DependencyError, RecalldError
from recalld.model import Repo
from recalld.settings import WatchSettings
from recalld.watch.apply import TRANSIENT, Applier, Outcome, Tally
from recalld.watch.beliefs import Beliefs
from recalld.watch.compare import RACY_NS
from recalld.watch.disk import Identity, Problem, Root, RootGoneError
from recalld.watch.git import Git, LockIdentity, find_git
from recalld.watch.hints import Hints, collapse
from recalld.watch.ignore import Rules
from recalld.watch.ports import Ports
from recalld.watch.reconcile import Reconciler
from recalld.watch.reports import Reporter
from recalld.watch.scan import scan
from recalld.watch.sources import Target

log = logging.getLogger(__name__)

OFFLINE_S = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""How long to wait before a missing root is looked for again, each time longer; the last repeats."""
RETRY_S = (0.2, 0.5, 1.0, 2.0, 5.0)
"""The same for an index or a stream that does not answer."""
ROOT_S = 2.0
"""How often the root is made sure of: a directory above it can be renamed without an event (seconds)."""
UNARMED_S = 5.0
"""A root is scanned after so long even though no source watches it yet (seconds)."""
QUIET_S, STORM_S = 0.3, 5.0
"""A storm is over when nothing came for the one, and is not waited for longer than the other (seconds)."""
SETTLED_S = RACY_NS / 1e9 + 0.1
"""After so long a file that was read just after it was written shows whether it was written once more (seconds)."""
GIT_POLL_S = 0.05
THREADS = 4
"""Worker threads of one repo: one on a file system that hangs does not hold up the others."""


@dataclass(slots=True)
class _Tree:
    """What exists while the root does."""

    root: Root
    applier: Applier
    reconciler: Reconciler
    git: Git | None
    commit: str | None = None


class RepoWatch:
    """Keeps the index equal to one directory.

    ``ask`` has the owner arm a new event source, because the root or directories are new, or events were seen to be
    missing. ``jitter`` spreads the periodic scans; it returns a factor near 1.
    """

    def __init__(
        self,
        repo: Repo,
        settings: WatchSettings,
        ports: Ports,
        ask: Callable[[str], None],
        jitter: Callable[[], float],
    ) -> None:
        self.repo = repo
        self._settings, self._ports, self._clock, self._ask, self._jitter = settings, ports, ports.clock, ask, jitter
        self._limiter = CapacityLimiter(THREADS)
        self._beliefs = Beliefs()
        self._reporter = Reporter(repo.name, ports.observer)
        self._turn = anyio.Lock()
        self._wake = anyio.Event()
        self._hints = Hints()
        self._tree: _Tree | None = None
        self._directories: dict[str, Identity] = {}
        self._armed: dict[str, Identity] = {}
        self._all_armed = False
        self._told = True
        self._how = "scanning"
        self._head_moved = False
        self._seen_lock: LockIdentity | None = None
        self._scanned_since_armed = False
        self._scan_due = self._retry_due = 0.0
        self._failures = self._absences = 0

    @property
    def trouble(self) -> str:
        """What is wrong with the repo as a whole, empty when nothing is."""
        own = next((problem.message for problem in self._reporter.problems if not problem.path), "")
        return f"{self.repo.name}: {own}" if own else ""

    def target(self) -> Target | None:
        """Return what an event source needs; None while there is no root."""
        tree = self._tree
        if tree is None:
            return None
        return Target(
            self.repo.name, tree.root, dict(self._directories), lambda: tree.applier.rules, tree.reconciler.fresh_rules
        )

    def hint(self, hints: Hints) -> None:
        """Take in where to look, from a source."""
        if hints.lost:
            self._armed.clear()
        for path in hints.stale:
            self._armed.pop(path, None)
        self._hints.add(hints)
        self._wake.set()

    def armed(self, target: Target, directories: Collection[str] | None, how: str, gapless: bool) -> None:
        """Be told that a source watches ``directories`` from now on; None is the whole tree.

        What was not watched before has to be compared, since nobody told of its changes.
        """
        if self._tree is None or target.root is not self._tree.root:
            return
        asked = {path: identity for path, identity in self._directories.items() if path in target.directories}
        covered = asked if directories is None else {path: asked[path] for path in directories if path in asked}
        before = self._armed if gapless else {}
        for path in asked.keys() - covered.keys():
            del self._directories[path]
        new = {path for path, identity in covered.items() if before.get(path) != identity}
        self._armed, self._all_armed, self._how, self._reporter.state = covered, directories is None, how, how
        if "" in new or "" not in covered:
            self._scanned_since_armed = False
            self._hints.lost = True
        self._hints.paths |= new - {""}
        self._wake.set()

    async def run(self) -> None:
        """Watch until cancelled. Whatever goes wrong is told and tried again."""
        while True:
            try:
                await self._step()
            except Exception as error:
                log.exception("watching %s failed", self.repo.name)
                self._again(Hints(lost=True), error)
                await anyio.sleep(RETRY_S[-1])

    async def _step(self) -> None:
        async with self._turn:
            is_there = self._tree is not None or await self._open()
        self._told = await self._reporter.flush()
        if not is_there:
            await self._rest(_nth(OFFLINE_S, self._absences - 1))
            return
        await self._rest(self._due() - self._clock.monotonic())
        if len(self._hints.paths) > self._settings.storm_paths:
            await self._storm_is_over()
        async with self._turn:
            if self._tree is not None:
                await self._look(self._tree)

    def _due(self) -> float:
        """Return when there is something to do without a hint (monotonic); after a failure, when its pause is over."""
        if self._failures:
            return self._retry_due
        now = self._clock.monotonic()
        due = [self._scan_due, now + (ROOT_S if self._told else RETRY_S[-1])]
        if self._tree is not None:
            due += [at + SETTLED_S for at in self._tree.applier.unsettled.values()]
        return min(due)

    async def _rest(self, seconds: float) -> None:
        with anyio.move_on_after(max(seconds, 0)):
            await self._wake.wait()
        self._wake = anyio.Event()

    async def _storm_is_over(self) -> None:
        with anyio.move_on_after(STORM_S):
            while True:
                with anyio.move_on_after(QUIET_S) as quiet:
                    await self._wake.wait()
                self._wake = anyio.Event()
                if quiet.cancelled_caught:
                    return

    async def _open(self) -> bool:
        """Find the root and its directories, and have them watched; tells whether there is one."""
        root = Root(Path(self.repo.path))
        try:
            await to_thread.run_sync(root.open, limiter=self._limiter)
            rules = Rules(Path(root.real), self.repo.include, self.repo.exclude)
            walk = await scan(root, rules, now_ns=self._clock.time_ns, limiter=self._limiter, files=False)
        except RootGoneError as error:
            self._go_offline(error)
            return False
        git = await to_thread.run_sync(find_git, Path(root.real), limiter=self._limiter)
        applier = Applier(self.repo.name, root, rules, self._beliefs, self._ports, self._settings, self._limiter)
        reconciler = Reconciler(
            self.repo, root, applier, self._beliefs, self._reporter, self._ports, self._settings, self._limiter
        )
        self._tree = _Tree(root, applier, reconciler, git)
        self._directories, self._armed = walk.directories, {}
        self._absences = 0
        self._reporter.clear_own("root_missing")
        self._reporter.state = self._how = "scanning"
        self._scan_due = self._clock.monotonic() + UNARMED_S
        self._ask(f"{self.repo.name} has a root")
        return True

    def _go_offline(self, error: RootGoneError) -> None:
        if self._tree is not None:
            self._tree = None
            self._ask(f"{self.repo.name} lost its root")
        self._absences += 1
        self._reporter.state = "offline"
        self._reporter.raise_own(
            Problem(
                "",
                "root_missing",
                f"{self.repo.path} cannot be watched: {error.strerror or 'it is gone'}; nothing was dropped",
                f"bring it back, or: recall repo remove {self.repo.name}",
            )
        )

    async def _look(self, tree: _Tree) -> None:
        """Work off the hints, and a full scan when it is due."""
        hints, self._hints = self._hints, Hints()
        scans, failures = self._clock.monotonic() >= self._scan_due, self._failures
        try:
            await to_thread.run_sync(tree.root.verify, limiter=self._limiter)
            if "" in hints.stale:
                self._tree = None  # the same number can be another directory: begin anew
                self._wake.set()
                return
            if hints or scans:
                await self._git_is_done(tree)
                await self._compare(tree, hints, scans)
            await self._settle(tree)
            if self._failures == failures:
                self._failures = 0
                self._reporter.clear_own("index_unreachable")
        except RootGoneError as error:
            self._go_offline(error)
        except (*TRANSIENT, RecalldError) as error:
            hints.lost |= scans
            self._again(hints, error)

    async def _git_is_done(self, tree: _Tree) -> None:
        """Wait while a git command changes the tree; a lock that stays longer is a leftover and is not waited for."""
        if tree.git is None:
            return
        lock = tree.git.lock()
        if lock is None or lock == self._seen_lock:
            return
        with anyio.move_on_after(self._settings.git_lock_s):
            while (lock := tree.git.lock()) is not None:  # noqa: ASYNC110 - git sends no event that can be trusted
                await anyio.sleep(GIT_POLL_S)
        self._seen_lock = lock

    async def _compare(self, tree: _Tree, hints: Hints, scans: bool) -> None:
        await self._note_head(tree, hints)
        singles, directories = collapse(hints.paths, self._settings.storm_paths)
        if hints.lost or hints.rules or self._head_moved or scans or "" in directories:
            unprompted = scans and not (hints or self._head_moved)
            await self._scan(tree, unprompted=unprompted)
        else:
            if singles:
                self._note(await tree.reconciler.check(singles))
            for directory in sorted(directories):
                self._note((await tree.reconciler.scan(directory)).tally)
        if hints.stale:
            self._ask(f"{self.repo.name}: something happened to {min(hints.stale)}")

    async def _note_head(self, tree: _Tree, hints: Hints) -> None:
        if tree.git is None and hints.git:
            tree.git = await to_thread.run_sync(find_git, Path(tree.root.real), limiter=self._limiter)
            self._ask(f"{self.repo.name} has a git directory")
        head = await to_thread.run_sync(tree.git.head, limiter=self._limiter) if tree.git else None
        self._head_moved |= tree.commit is not None and head != tree.commit
        tree.commit = tree.applier.commit = self._reporter.commit = head

    async def _scan(
        self, tree: _Tree, *, allow_prune: bool = False, force: bool = False, unprompted: bool = False
    ) -> ScanReport:
        """Compare everything. An ``unprompted`` scan that finds changes of long ago shows that events are missing."""
        self._reporter.state = "scanning"
        try:
            scanned = await tree.reconciler.scan(moved=self._head_moved, allow_prune=allow_prune, force=force)
        finally:
            self._reporter.state = self._how
        self._scan_due = self._clock.monotonic() + self._settings.scan_interval_s * self._jitter()
        if scanned.tally.error is None:
            self._head_moved = False
            self._reporter.scanned_at = self._clock.now()
            self._directories = dict(scanned.tally.listed)
        self._note(scanned.tally)
        if unprompted and self._scanned_since_armed and self._how == "watching" and scanned.missed:
            log.info("%s: no event told of %s", self.repo.name, scanned.missed[0])
            self._armed.clear()
            self._ask(f"{self.repo.name}: events are missing")
        self._scanned_since_armed = scanned.tally.error is None
        return scanned.report

    async def _settle(self, tree: _Tree) -> None:
        """Read files again that were read while they might still have been written to, some at a time."""
        now = self._clock.monotonic()
        due = [path for path, at in tree.applier.unsettled.items() if at + SETTLED_S <= now]
        due = due[: self._settings.storm_paths]
        if due:
            self._note(await tree.reconciler.check(due, reread=True))
        for path in due:
            del tree.applier.unsettled[path]

    def _note(self, tally: Tally) -> None:
        """Remember what has to be done again, and which directories are new."""
        self._directories |= tally.listed
        is_watched = self._all_armed or self._how != "watching"
        if not is_watched and any(self._armed.get(path) != seen for path, seen in tally.listed.items()):
            self._ask(f"{self.repo.name} has new directories")
        if tally.error is not None:
            paths = {work.path for work in (*tally.failed, *tally.deferred)}
            self._again(Hints(paths=paths), tally.error)

    def _again(self, hints: Hints, error: Exception) -> None:
        self._hints.add(hints)
        pause = _nth(RETRY_S, self._failures)
        self._failures += 1
        self._retry_due = self._clock.monotonic() + pause
        self._scan_due = max(self._scan_due, self._retry_due)
        if self._failures in (1, len(RETRY_S)):
            log.warning("%s is compared again in a moment: %s", self.repo.name, error)
        if self._failures >= len(RETRY_S):
            self._reporter.raise_own(Problem("", "index_unreachable", f"files cannot be handed over: {error}"))

    async def scan(self, request: ReindexRequest) -> ScanReport:
        """Compare now, on request. Raises DependencyError while the root is missing or the index does not answer."""
        async with self._turn:
            try:
                if self._tree is None and not await self._open():
                    raise self._no_root()
                assert self._tree is not None
                tree = self._tree
                await to_thread.run_sync(tree.root.verify, limiter=self._limiter)
                await self._git_is_done(tree)
                await self._note_head(tree, Hints())
                if request.path is not None:
                    return await self._check_one(tree, request.path.strip("/"), request.force)
                return await self._scan(tree, allow_prune=request.allow_prune, force=request.force)
            except RootGoneError as error:
                self._go_offline(error)
                raise self._no_root() from error
            finally:
                self._wake.set()
                await self._reporter.flush()

    def _no_root(self) -> DependencyError:
        problem = next(problem for problem in self._reporter.problems if problem.code == "root_missing")
        return DependencyError(problem.message, suggestion=problem.hint)

    async def _check_one(self, tree: _Tree, path: str, force: bool) -> ScanReport:
        began = self._clock.monotonic()
        tally = await tree.reconciler.check([path], force=force)
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
            excluded=len(tally.excluded),
            took_ms=round((self._clock.monotonic() - began) * 1e3, 1),
            error=error,
            last_seq=tally.last.seq if tally.last else 0,
        )


def _nth(pauses: tuple[float, ...], number: int) -> float:
    return pauses[min(max(number, 0), len(pauses) - 1)]
