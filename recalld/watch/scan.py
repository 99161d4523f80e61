"""Walking a root: every file that belongs to the memory, every problem, and where absence proves nothing.

Ignored directories are pruned before they are entered. The walk runs in a worker thread a slice at a time, so that the
event loop stays live and a cancelled scan stops within one slice.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from anyio import CapacityLimiter, to_thread

from recalld.model import FileStat
from recalld.watch.compare import Disk, Presence
from recalld.watch.disk import (
    Identity,
    Problem,
    Root,
    file_stat,
    follow,
    identity_of,
    is_utf8,
    misnamed,
    special,
    unreadable,
)
from recalld.watch.ignore import Rules

SLICE = 1_000
"""Directory entries looked at in one turn of the worker thread (some 10 ms)."""


@dataclass(slots=True)
class Walk:
    """What a walk found. Below a prefix of ``unlisted`` absence is not known. ``directories`` are those it listed."""

    under: str = ""
    files: dict[str, FileStat] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    unlisted: list[str] = field(default_factory=list)
    directories: dict[str, Identity] = field(default_factory=dict)
    observed_ns: int = 0

    def disk(self, path: str, max_bytes: int) -> Disk:
        """Return the state of a path below ``under`` as this walk saw it."""
        found = self.files.get(path)
        if found is not None:
            skip = "too-large" if found.size > max_bytes else None
            return Disk(Presence.FILE, found, self.observed_ns, skip=skip)
        if any(not prefix or path == prefix or path.startswith(f"{prefix}/") for prefix in self.unlisted):
            return Disk(Presence.UNKNOWN)
        return Disk(Presence.ABSENT)


async def scan(
    root: Root,
    rules: Rules,
    under: str = "",
    *,
    now_ns: Callable[[], int],
    limiter: CapacityLimiter | None = None,
    files: bool = True,
    beat: Callable[[], None] = lambda: None,
) -> Walk:
    """Walk the root, or the directory ``under`` in it; without ``files`` only to find the directories.

    ``beat`` is called after each slice. Raises RootGoneError when the root is not what it was.
    """
    walk = Walk(under, observed_ns=now_ns())
    steps = _Walker(root, rules, walk, files).steps()
    await to_thread.run_sync(root.verify, limiter=limiter)
    while await to_thread.run_sync(_take, steps, limiter=limiter):
        beat()
    await to_thread.run_sync(root.verify, limiter=limiter)
    return walk


def _take(steps: Iterator[int]) -> bool:
    seen = 0
    for entries in steps:
        seen += entries + 1
        if seen >= SLICE:
            return True
    return False


class _Walker:
    def __init__(self, root: Root, rules: Rules, walk: Walk, files: bool) -> None:
        self._root, self._rules, self._walk, self._files = root, rules, walk, files
        self._entered: set[Identity] = set()
        if not walk.under:
            root.followed.clear()

    def steps(self) -> Iterator[int]:
        """List directories, one at a time, depth first in the order of names; yields how many entries each had."""
        pending = [(self._walk.under, False)]
        while pending:
            path, linked = pending.pop()
            identity = self._enters(path, linked)
            if identity is None:
                continue
            try:
                with os.scandir(self._root.full(path)) as found:
                    entries = sorted(found, key=lambda entry: entry.name)
            except OSError as error:
                self._not_listed(path, error)
                continue
            self._walk.directories[path] = identity
            below: list[tuple[str, bool]] = []
            for entry in entries:
                self._visit(f"{path}/{entry.name}" if path else entry.name, entry, below)
            pending.extend(reversed(below))
            yield len(entries)

    def _enters(self, path: str, linked: bool) -> Identity | None:
        try:
            found = os.stat(self._root.full(path))
        except OSError as error:
            self._not_listed(path, error)
            return None
        here = identity_of(found)
        if linked and here in self._entered:
            return None
        self._entered.add(here)
        return here if self._is_mounted(path, here[0]) else None

    def _is_mounted(self, path: str, device: int) -> bool:
        """Notice a directory that was a mount point and now shows what lies beneath it."""
        own = self._root.identity[0] if self._root.identity else device
        if device != own:
            self._root.mounts.add(path)
        elif path in self._root.mounts:
            self._not_listed(path, OSError(errno.ENODEV, "was a mount point and is not mounted"))
            return False
        return True

    def _not_listed(self, path: str, error: OSError) -> None:
        self._walk.unlisted.append(path)
        if error.errno not in (errno.ENOENT, errno.ENOTDIR):
            self._walk.problems.append(unreadable(path, error))

    def _visit(self, path: str, entry: os.DirEntry[str], below: list[tuple[str, bool]]) -> None:
        try:
            is_link, is_dir = entry.is_symlink(), entry.is_dir(follow_symlinks=False)
            if not (self._files or is_dir or is_link):
                return
            if self._rules.ignores_below(path, is_dir=is_dir) and not (
                is_link and not self._rules.ignores_below(path, is_dir=True)
            ):
                return
            if not is_utf8(entry.name):
                self._walk.problems.append(misnamed(path))
            elif is_link:
                self._visit_link(path, below)
            elif is_dir:
                below.append((path, False))
            else:
                self._visit_file(path, entry.stat(follow_symlinks=False))
        except OSError as error:
            self._not_listed(path, error)

    def _visit_file(self, path: str, found: os.stat_result) -> None:
        if stat.S_ISREG(found.st_mode):
            self._walk.files[path] = file_stat(found)
        else:
            self._walk.problems.append(special(path))

    def _visit_link(self, path: str, below: list[tuple[str, bool]]) -> None:
        link = follow(self._root, self._rules, path)
        if link.problem is not None:
            self._walk.problems.append(link.problem)
        if link.stat is None:
            return
        is_dir = stat.S_ISDIR(link.stat.st_mode)
        if self._rules.ignores_below(path, is_dir=is_dir):
            return
        if is_dir:
            below.append((path, True))
        elif self._root.followed.setdefault(identity_of(link.stat), path) == path:
            self._visit_file(path, link.stat)
