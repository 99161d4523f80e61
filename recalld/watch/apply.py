"""Making it so: look at a path, compare, read if need be, publish.

Whoever asks, a path is looked at afresh here, under its own lock, so publishes of one path keep their order and the
last one is what is on disk. Reading happens in worker threads; only so many files are in memory at once.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum

from anyio import CapacityLimiter, Lock, create_task_group, to_thread

from recalld.errors import (
    BusyError,
    DeadlineError,
    DependencyError,
    RecalldError,
    RetryLater,
    UnreachableError,
)
from recalld.model import DocumentState, ManifestEntry, Operation, Position, Severity, Snapshot
from recalld.settings import WatchSettings
from recalld.watch.beliefs import Beliefs
from recalld.watch.compare import Action, Disk, Presence, compare, is_racy
from recalld.watch.disk import Identity, Problem, Root, RootGoneError, Sight, file_stat, look, printable, unreadable
from recalld.watch.ignore import Rules
from recalld.watch.ports import Ports

log = logging.getLogger(__name__)

TRANSIENT = (DependencyError, UnreachableError, DeadlineError, BusyError, RetryLater, OSError, TimeoutError)
"""What may go away by itself: the same work is done again later."""
_READ_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Work:
    """A path to look at, with the index's row for it.

    ``listed`` says that a scan just proved that it is gone. ``reread`` has its content read whatever its stat says;
    ``force`` also gives a failed file another try.
    """

    path: str
    known: ManifestEntry | None
    listed: bool = False
    reread: bool = False
    force: bool = False


class Outcome(StrEnum):
    """What became of one path."""

    UNCHANGED = "unchanged"
    CHANGED = "changed"
    SKIPPED = "skipped"
    DELETED = "deleted"
    DEFERRED = "deferred"
    UNREADABLE = "unreadable"


@dataclass(slots=True)
class Tally:
    """What became of many paths.

    ``deferred`` are deletions left for later, ``failed`` what was not done because of ``error``. ``directories`` exist
    as such and ``others`` are no directories (any more): below both there may be more to look at. ``instead`` names the
    paths that others turned out to be links to, ``excluded`` those that rules leave out, and ``listed`` the directories
    that scans saw.
    """

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    deferred: list[Work] = field(default_factory=list)
    failed: list[Work] = field(default_factory=list)
    error: Exception | None = None
    problems: dict[str, Problem] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)
    directories: set[str] = field(default_factory=set)
    instead: set[str] = field(default_factory=set)
    excluded: set[str] = field(default_factory=set)
    listed: dict[str, Identity] = field(default_factory=dict)
    last: Position | None = None

    def count(self, outcome: Outcome) -> int:
        """Return how many paths had an outcome."""
        return sum(1 for found in self.outcomes.values() if found is outcome)

    def add(self, other: Tally) -> None:
        """Take in a later tally; its word on a path is the newer one."""
        self.outcomes.update(other.outcomes)
        self.deferred += other.deferred
        self.failed += other.failed
        self.error = self.error or other.error
        self.problems.update(other.problems)
        self.others |= other.others
        self.directories |= other.directories
        self.instead |= other.instead
        self.excluded |= other.excluded
        self.listed |= other.listed
        if other.last is not None:
            self.last = other.last


@dataclass(frozen=True, slots=True)
class _Seen:
    """A sight with the decision on it, and the content where it was read."""

    sight: Sight
    action: Action
    content: bytes | None = None

    @property
    def is_racy(self) -> bool:
        """Tell whether the file may have been written once more under the stat that it was read with."""
        disk = self.sight.disk
        return self.content is not None and disk.stat is not None and is_racy(disk.stat, disk.observed_ns)


class Applier:
    """Does the work of one repo. ``rules`` and ``commit`` are replaced by the owner as they change.

    ``unsettled`` maps files that were read so soon after a write that the next one may not show in their stat to when
    that was (monotonic); the owner has them read again a little later.
    """

    def __init__(
        self,
        repo: str,
        root: Root,
        rules: Rules,
        beliefs: Beliefs,
        ports: Ports,
        settings: WatchSettings,
        limiter: CapacityLimiter,
    ) -> None:
        self.rules = rules
        self.commit: str | None = None
        self.unsettled: dict[str, float] = {}
        self._repo, self._root, self._beliefs, self._ports, self._limiter = repo, root, beliefs, ports, limiter
        self._max_bytes, self._concurrency = settings.max_file_bytes, settings.concurrency
        self._locks: dict[str, tuple[Lock, int]] = {}

    async def run(self, works: Iterable[Work], *, deletes: bool) -> Tally:
        """Do the work, several paths at once; deletions only if ``deletes``, else they are deferred.

        A failure that may pass stops the rest and stands in the tally; one file's own failure is that file's problem.
        Raises RootGoneError when the root is not what it was.
        """
        works = list(works)
        tally = Tally()
        gone: list[RootGoneError] = []
        queue = iter(works)

        async def worker() -> None:
            for work in queue:
                if tally.error is not None or gone:
                    tally.failed.append(work)
                    continue
                try:
                    await self._one(work, deletes, tally)
                except RootGoneError as error:
                    gone.append(error)
                except TRANSIENT as error:
                    tally.error = error
                    tally.failed.append(work)
                except RecalldError as error:
                    tally.problems[work.path] = _unpublishable(work.path, error)

        async with create_task_group() as group:
            for _ in range(min(self._concurrency, len(works))):
                group.start_soon(worker)
        if gone:
            raise gone[0]
        return tally

    async def _one(self, work: Work, deletes: bool, tally: Tally) -> None:
        async with self._locked(work.path):
            known = self._beliefs.believe(work.path, work.known)
            if work.reread and known is not None:
                known = replace(known, stat=None)
            work = replace(work, known=known)
            seen = await to_thread.run_sync(self._see, work, limiter=self._limiter)
            self._note(work.path, seen.sight, tally)
            if seen.action is Action.UPSERT:
                await self._upsert(work.path, seen, tally)
            elif seen.action is Action.DELETE and deletes:
                await self._delete(work.path, tally)
            elif seen.action is Action.DELETE:
                tally.outcomes[work.path] = Outcome.DEFERRED
                tally.deferred.append(work)
            else:
                unknown = seen.sight.disk.presence is Presence.UNKNOWN
                tally.outcomes[work.path] = Outcome.UNREADABLE if unknown else Outcome.UNCHANGED
            if seen.is_racy and not work.reread:
                self.unsettled[work.path] = self._ports.clock.monotonic()

    def _note(self, path: str, sight: Sight, tally: Tally) -> None:
        if sight.problem is not None:
            tally.problems[path] = sight.problem
        if sight.instead is not None:
            tally.instead.add(sight.instead)
        if sight.disk.presence is Presence.EXCLUDED:
            tally.excluded.add(path)
        if sight.is_dir:
            tally.directories.add(path)
        elif sight.disk.presence is not Presence.UNKNOWN:
            tally.others.add(path)

    async def _upsert(self, path: str, seen: _Seen, tally: Tally) -> None:
        disk = seen.sight.disk
        state = DocumentState.SKIPPED if disk.skip else DocumentState.INDEXED
        snapshot = Snapshot(
            self._repo,
            path,
            Operation.UPSERT,
            content_hash=disk.content_hash or "",
            stat=disk.stat,
            content=None if disk.skip else seen.content,
            commit=self.commit,
            agent=self._ports.node,
            observed_at=self._ports.clock.now(),
            skip=disk.skip,
        )
        entry = ManifestEntry(path, state, snapshot.content_hash, disk.stat, await self._publish(snapshot, tally))
        self._beliefs.published(entry, self._ports.clock.monotonic())
        tally.outcomes[path] = Outcome.SKIPPED if disk.skip else Outcome.CHANGED

    async def _delete(self, path: str, tally: Tally) -> None:
        now = self._ports.clock.now()
        snapshot = Snapshot(
            self._repo, path, Operation.DELETE, commit=self.commit, agent=self._ports.node, observed_at=now
        )
        entry = ManifestEntry(path, DocumentState.DELETED, "", None, await self._publish(snapshot, tally))
        self._beliefs.published(entry, self._ports.clock.monotonic())
        tally.outcomes[path] = Outcome.DELETED

    async def _publish(self, snapshot: Snapshot, tally: Tally) -> Position:
        position = await self._ports.publisher.publish(snapshot)
        if tally.last is None or position > tally.last:
            tally.last = position
        log.debug("%s %s:%s is %s", snapshot.operation, snapshot.repo, snapshot.path, position)
        return position

    def _see(self, work: Work) -> _Seen:
        """Look, and read until the file held still; one that never does is taken as it was read last. In a thread."""
        last: _Seen | None = None
        for _ in range(_READ_ATTEMPTS):
            sight = self._look(work)
            action = compare(sight.disk, work.known, force=work.force)
            if action is not Action.READ:
                return _Seen(sight, action)
            if self._is_remembered(work, sight.disk):
                return _Seen(sight, Action.NOTHING)
            try:
                content, still = self._read(work.path, sight.disk)
            except FileNotFoundError:
                continue
            except OSError as error:
                return _unread(sight, unreadable(work.path, error))
            if len(content) > self._max_bytes:
                continue
            last = self._decide(work, sight, content, still)
            if still:
                return last
        return last or _unread(sight, Problem(printable(work.path), "unreadable", "comes and goes while it is read"))

    def _look(self, work: Work) -> Sight:
        return look(
            self._root,
            self.rules,
            work.path,
            max_bytes=self._max_bytes,
            now_ns=self._ports.clock.time_ns,
            listed=work.listed,
        )

    def _is_remembered(self, work: Work, disk: Disk) -> bool:
        if work.force or work.reread or disk.stat is None:
            return False
        known = self._beliefs.hash_of(work.path, disk.stat)
        return known is not None and compare(replace(disk, content_hash=known), work.known) is Action.NOTHING

    def _read(self, path: str, disk: Disk) -> tuple[bytes, bool]:
        """Return the content, one byte over the cap at most, and whether the file is still as it was looked at.

        Raises FileNotFoundError when another file stands there now: what was looked at may be read, nothing else.
        """
        with open(self._root.full(path), "rb", buffering=0, opener=_no_wait) as stream:
            opened = os.fstat(stream.fileno())
            if not stat.S_ISREG(opened.st_mode) or (disk.stat and opened.st_ino != disk.stat.inode):
                raise FileNotFoundError(path)
            content = _read_at_most(stream.fileno(), self._max_bytes + 1)
            still = file_stat(os.fstat(stream.fileno())) == disk.stat
        return content, still

    def _decide(self, work: Work, sight: Sight, content: bytes, still: bool) -> _Seen:
        content_hash = hashlib.sha256(content).hexdigest()
        disk = replace(
            sight.disk,
            stat=sight.disk.stat if still else None,
            content_hash=content_hash,
            skip="binary" if self._ports.is_binary(content) else None,
        )
        action = compare(disk, work.known, force=work.force)
        if action is Action.NOTHING and disk.stat is not None:
            self._beliefs.remember(work.path, disk.stat, content_hash, disk.observed_ns)
        return _Seen(replace(sight, disk=disk), action, content)

    @asynccontextmanager
    async def _locked(self, path: str) -> AsyncIterator[None]:
        lock, users = self._locks.get(path, (Lock(), 0))
        self._locks[path] = lock, users + 1
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks.pop(path)
            if users > 1:
                self._locks[path] = lock, users - 1


def _no_wait(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _read_at_most(descriptor: int, limit: int) -> bytes:
    parts: list[bytes] = []
    while limit > 0 and (part := os.read(descriptor, min(limit, 1 << 20))):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)


def _unread(sight: Sight, problem: Problem) -> _Seen:
    return _Seen(replace(sight, disk=Disk(Presence.UNKNOWN), problem=problem), Action.NOTHING)


def _unpublishable(path: str, error: RecalldError) -> Problem:
    return Problem(printable(path), "not-published", error.message, error.suggestion, Severity.ERROR)
