"""Looking at one path: what is there, whether it may be believed, and where a symbolic link really leads.

Symbolic links are followed inside the root only, and only to what is not indexed under its own name anyway; loops,
escapes and dangling links are problems to report. Blocking: call it in a worker thread.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from recalld.model import FileStat, Severity
from recalld.watch.compare import Disk, Presence
from recalld.watch.ignore import Rules

_GONE = frozenset({errno.ENOENT, errno.ENOTDIR})
Identity = tuple[int, int]
"""Device and inode: what a directory is, whatever it is called."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something on disk that cannot be indexed as it is. ``path`` is fit for printing (other bytes are escaped)."""

    path: str
    code: str
    message: str
    hint: str = ""
    severity: Severity = Severity.WARNING


class RootGoneError(OSError):
    """The root is missing, cannot be listed, or is another directory than the one that is watched."""


@dataclass(slots=True)
class Root:
    """A watched directory. ``identity`` is that of the directory which was found at :meth:`open`."""

    path: Path
    real: str = ""
    identity: Identity | None = None
    followed: dict[Identity, str] = field(default_factory=dict)
    mounts: set[str] = field(default_factory=set)

    def open(self) -> Identity:
        """Find the directory and remember its identity; raises RootGoneError."""
        try:
            self.real = os.path.realpath(self.path, strict=True)
            with os.scandir(self.real):
                self.identity = identity_of(os.stat(self.real))
        except OSError as error:
            raise RootGoneError(error.errno, error.strerror, str(self.path)) from error
        return self.identity

    def verify(self) -> None:
        """Raise RootGoneError unless the directory at the path is still the one that was opened."""
        try:
            found = identity_of(os.stat(self.path))
        except OSError as error:
            raise RootGoneError(error.errno, error.strerror, str(self.path)) from error
        if found != self.identity:
            raise RootGoneError(errno.ESTALE, "replaced by another directory", str(self.path))

    def full(self, path: str) -> str:
        """Return the absolute path of a repo-relative one ("" is the root)."""
        return f"{self.real}/{path}" if path else self.real

    def relative(self, full: str) -> str | None:
        """Return the repo-relative path, None for what is outside the root."""
        if full == self.real:
            return ""
        return full[len(self.real) + 1 :] if full.startswith(self.real + "/") else None


@dataclass(frozen=True, slots=True)
class Link:
    """Where a symbolic link leads: ``target`` is repo-relative. ``stat`` None means that it is not to be followed."""

    target: str | None = None
    stat: os.stat_result | None = None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Sight:
    """One look: the path's state, a directory flag, what is wrong, and the path under which it is indexed instead."""

    disk: Disk
    is_dir: bool = False
    problem: Problem | None = None
    instead: str | None = None


def file_stat(found: os.stat_result) -> FileStat:
    """Return the part of a stat result that tells whether content may have changed."""
    return FileStat(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def is_utf8(path: str) -> bool:
    """Tell whether a path as the operating system gave it is text."""
    return path.isascii() or not any("\ud800" <= c <= "\udfff" for c in path)


def printable(path: str) -> str:
    """Return a path fit for messages: undecodable bytes stand as ``\\xNN``."""
    return path if is_utf8(path) else os.fsencode(path).decode("utf-8", "backslashreplace")


def unreadable(path: str, error: OSError) -> Problem:
    """Name a file or directory that could not be read; nothing is concluded from it."""
    return Problem(
        printable(path),
        "unreadable",
        f"cannot be read: {error.strerror or error}; what is indexed of it stays as it is",
        "give recalld's user read permission, or exclude it in .recallignore",
    )


def misnamed(path: str) -> Problem:
    """Name a file whose name is not UTF-8."""
    return Problem(printable(path), "name-not-utf8", "the name is not UTF-8, so it is not indexed", "rename the file")


def special(path: str) -> Problem:
    """Name something that is neither file nor directory nor link."""
    return Problem(
        printable(path), "special-file", "is a pipe, socket or device, so it is not read", "exclude it in .recallignore"
    )


def too_large(path: str, size: int, limit: int) -> Problem:
    """Name a file over the size cap."""
    return Problem(
        path,
        "too-large",
        f"has {size} bytes, more than the {limit} that are read; it is not searchable",
        "split it, exclude it in .recallignore, or raise watch.max_file_bytes",
    )


def follow(root: Root, rules: Rules, path: str) -> Link:
    """Resolve a symbolic link and decide whether it is to be followed."""
    full = root.full(path)
    try:
        real = os.path.realpath(full, strict=True)
        found = os.stat(real)
    except OSError as error:
        return Link(problem=_broken_link(path, error))
    target = root.relative(real)
    if target is None:
        message = "is a link that leads out of the repo, so it is not followed"
        return Link(
            problem=Problem(printable(path), "symlink-escape", message, "copy the file, or watch its own directory")
        )
    is_dir = stat.S_ISDIR(found.st_mode)
    if is_dir and f"{os.path.realpath(os.path.dirname(full))}/".startswith(f"{real}/"):
        return Link(target, problem=_loop(path))
    if _is_indexed_itself(rules, target, is_dir) or rules.protects(target, is_dir=is_dir):
        return Link(target)
    return Link(target, found)


def _is_indexed_itself(rules: Rules, target: str, is_dir: bool) -> bool:
    return is_utf8(target) and not rules.ignores(target, is_dir=is_dir)


def _loop(path: str) -> Problem:
    message = "is a link that leads back to a directory above it, so it is not followed"
    return Problem(printable(path), "symlink-loop", message, "remove the link")


def _broken_link(path: str, error: OSError) -> Problem:
    if error.errno == errno.ELOOP:
        return _loop(path)
    if error.errno in _GONE:
        return Problem(printable(path), "symlink-broken", "is a link to nothing", "remove or repair it", Severity.NOTE)
    return unreadable(path, error)


def look(root: Root, rules: Rules, path: str, *, max_bytes: int, now_ns: Callable[[], int], listed: bool) -> Sight:
    """See what a path is now.

    ``listed`` says that a scan just listed the directory without finding the name; otherwise absence is confirmed by
    listing the nearest directory that is left.
    """
    if not is_utf8(path):
        return Sight(Disk(Presence.UNKNOWN), problem=misnamed(path))
    observed = now_ns()
    try:
        found = os.lstat(root.full(path))
    except OSError as error:
        return _look_failed(root, path, error, listed)
    is_dir, is_link = stat.S_ISDIR(found.st_mode), stat.S_ISLNK(found.st_mode)
    if rules.ignores(path, is_dir=is_dir) and not (is_link and not rules.ignores(path, is_dir=True)):
        return Sight(Disk(Presence.EXCLUDED))
    if listed and not _name_is_listed(root, path):
        return Sight(Disk(Presence.ABSENT))
    instead = _canonical(root, path)
    if instead != path and (instead is None or _is_indexed_itself(rules, instead, is_dir) or rules.protects(instead)):
        return Sight(Disk(Presence.EXCLUDED), instead=instead)
    if is_link:
        link = follow(root, rules, path)
        if link.stat is None or root.followed.get(identity_of(link.stat), path) != path:
            return Sight(Disk(Presence.EXCLUDED), problem=link.problem, instead=link.target)
        found, is_dir = link.stat, stat.S_ISDIR(link.stat.st_mode)
        if rules.ignores(path, is_dir=is_dir):
            return Sight(Disk(Presence.EXCLUDED))
    if is_dir:
        return Sight(Disk(Presence.ABSENT), is_dir=True)
    return regular(path, found, max_bytes, observed)


def regular(path: str, found: os.stat_result, max_bytes: int, observed_ns: int) -> Sight:
    """Return the sight of what is expected to be a regular file, from its stat."""
    if not stat.S_ISREG(found.st_mode):
        return Sight(Disk(Presence.ABSENT), problem=special(path))
    skip = "too-large" if found.st_size > max_bytes else None
    problem = too_large(path, found.st_size, max_bytes) if skip else None
    return Sight(Disk(Presence.FILE, file_stat(found), observed_ns, skip=skip), problem=problem)


def _look_failed(root: Root, path: str, error: OSError, listed: bool) -> Sight:
    if error.errno not in _GONE:
        return Sight(Disk(Presence.UNKNOWN), problem=unreadable(path, error))
    root.verify()
    if listed:
        return Sight(Disk(Presence.ABSENT))
    sight = _confirm_absence(root, path)
    root.verify()
    return sight


def _confirm_absence(root: Root, path: str) -> Sight:
    below_file = False
    while True:
        parent, _, name = path.rpartition("/")
        try:
            with os.scandir(root.full(parent)) as entries:
                gone = below_file or all(entry.name != name for entry in entries)
            return Sight(Disk(Presence.ABSENT if gone else Presence.UNKNOWN))
        except OSError as error:
            if error.errno not in _GONE or not parent:
                return Sight(Disk(Presence.UNKNOWN), problem=unreadable(parent, error))
            below_file = below_file or error.errno == errno.ENOTDIR
        path = parent


def _name_is_listed(root: Root, path: str) -> bool:
    """Tell an exact name from its twin in other case or Unicode form, on file systems that take both for one."""
    parent, _, name = path.rpartition("/")
    try:
        return name in os.listdir(root.full(parent))
    except OSError:
        return True


def _canonical(root: Root, path: str) -> str | None:
    """Return the path with links in its directories resolved, None where that leads out of the root."""
    parent, _, name = path.rpartition("/")
    if not parent:
        return path
    real = root.relative(os.path.realpath(root.full(parent)))
    return None if real is None else f"{real}/{name}" if real else name


def identity_of(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino
