"""What a repo's git directory says, without running git: which commit is checked out, and whether git is at work.

A repo in the reftable format does not give its commit away this simply; it is then None and HEAD moves go unnoticed,
which costs nothing but the commit in the provenance: the files themselves are watched and scanned all the same.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MAX_SYMBOLIC = 5
_MAX_BYTES = 64 * 1024
LockIdentity = tuple[int, int]
"""Inode and modification time of an ``index.lock``: one git command's, not the next one's."""


@dataclass(frozen=True, slots=True)
class Git:
    """A git directory. ``common`` differs from ``directory`` in a linked worktree."""

    directory: Path
    common: Path

    def head(self) -> str | None:
        """Return the commit that is checked out (40 or 64 hex digits), None before the first one."""
        text = _read(self.directory / "HEAD")
        for _ in range(_MAX_SYMBOLIC):
            if not text.startswith("ref:"):
                return text if _COMMIT.fullmatch(text) else None
            text = self._resolve(text.removeprefix("ref:").strip())
        return None

    def lock(self) -> LockIdentity | None:
        """Return the identity of ``index.lock`` while a git command is changing the working tree."""
        try:
            found = os.lstat(self.directory / "index.lock")
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    def _resolve(self, ref: str) -> str:
        if not ref.startswith("refs/") or ".." in ref:
            return ""
        return _read(self.directory / ref) or _read(self.common / ref) or self._packed(ref)

    def _packed(self, ref: str) -> str:
        try:
            with open(self.common / "packed-refs", encoding="utf-8", errors="replace", opener=_no_wait) as lines:
                for line in lines:
                    commit, _, name = line.rstrip("\n").partition(" ")
                    if name == ref:
                        return commit
        except OSError:
            return ""
        return ""


def find_git(root: Path) -> Git | None:
    """Return the git directory that ``root`` or a directory above it belongs to."""
    for directory in (root, *root.parents):
        entry = directory / ".git"
        if entry.is_dir():
            return Git(entry, entry)
        if entry.is_file():
            return _linked(directory, _read(entry))
    return None


def _linked(directory: Path, text: str) -> Git | None:
    if not text.startswith("gitdir:"):
        return None
    target = directory / text.removeprefix("gitdir:").strip()
    if not (target / "HEAD").is_file():
        return None
    common = _read(target / "commondir")
    return Git(target, target / common if common else target)


def _no_wait(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _read(path: Path) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace", opener=_no_wait) as stream:
            return stream.read(_MAX_BYTES).strip()
    except OSError:
        return ""
