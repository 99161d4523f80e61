"""Several changes of a repo's files as one: all of them, or none. Never over a file, never outside, byte for byte.

What a change finds must be what its author saw: each names the sha256 of the content that it changes or moves.
Blocking.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath

from recalld.errors import DependencyError, RecalldError, RefusedError
from recalld.watch.creating import create_bytes, inside, replace

READ_BYTES = 524_288
"""Larger files are read for nobody who does not ask for large ones, and no more than this in one go."""
LARGEST = 8_388_608
"""No larger file is read, or changed."""


@dataclass(frozen=True, slots=True)
class Create:
    """A new file; its folders are made."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Replace:
    """Other content for a file whose content has the sha256 ``expected``."""

    path: str
    expected: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Move:
    """Another place for a file whose content has the sha256 ``expected``; its folders are made."""

    path: str
    to: str
    expected: str


@dataclass(frozen=True, slots=True)
class Remove:
    """No file any more where one is whose content has the sha256 ``expected``."""

    path: str
    expected: str


Change = Create | Replace | Move | Remove
Undo = Callable[[], None]


def change(root: Path, changes: Sequence[Change]) -> None:
    """Make the changes in their order; where one cannot be made, take back those before it. Emptied folders go.

    Raises RefusedError where something stands in the way or is not what was expected, UsageError for a path that leads
    elsewhere, DependencyError where the disk does not let us. Each names the path.
    """
    undo: list[Undo] = []
    try:
        for each in changes:
            undo.append(_make(root, each))  # noqa: PERF401 - what was done must be known when a later one fails
    except RecalldError as error:
        left = [why for take_back in reversed(undo) if (why := _taken_back(take_back))]
        if left:
            raise DependencyError(
                f"{error.message}; and what was done before could not all be taken back: {'; '.join(left)}",
                suggestion="see the repo's history",
            ) from error
        raise
    finally:
        for each in changes:
            _without_empty_folders(root, each.path)
            if isinstance(each, Move):
                _without_empty_folders(root, each.to)


def read(root: Path, paths: Sequence[str], largest: int = READ_BYTES) -> tuple[dict[str, bytes], int]:
    """Return the content of those of the files that are there, plain and not too large, and how many were looked at.

    Stops before :data:`READ_BYTES` are exceeded; ask again for the rest.
    """
    found: dict[str, bytes] = {}
    total = 0
    for number, path in enumerate(paths):
        content = _content(root, path, largest)
        if content is None:
            continue
        total += len(content)
        if found and total > READ_BYTES:
            return found, number
        found[path] = content
    return found, len(paths)


def hashes(root: Path, paths: Sequence[str]) -> dict[str, str]:
    """Return the sha256 (hex) of what files hold, empty for one that is gone; unknown ones are left out."""
    found: dict[str, str] = {}
    for path in paths:
        content = _content(root, path, LARGEST)
        if content is not None:
            found[path] = sha256(content).hexdigest()
        elif not os.path.lexists(inside(root, path)):
            found[path] = ""
    return found


def _make(root: Path, each: Change) -> Undo:
    try:
        if isinstance(each, Create):
            create_bytes(root, each.path, each.content)
            return lambda: _remove(root, each.path, sha256(each.content).hexdigest())
        if isinstance(each, Replace):
            before = _expected(root, each.path, each.expected)
            replace(inside(root, each.path), before, each.content)
            return lambda: replace(inside(root, each.path), each.content, before)
        if isinstance(each, Remove):
            removed = _expected(root, each.path, each.expected)
            _take_away(root, each.path, each.expected)
            return lambda: create_bytes(root, each.path, removed)
        _move(root, each.path, each.to, each.expected)
        return lambda: _move(root, each.to, each.path, each.expected)
    except OSError as error:
        raise DependencyError(
            f"{each.path} cannot be changed: {error.strerror}", suggestion="see the repo's permissions"
        ) from error


def _taken_back(undo: Undo) -> str:
    try:
        undo()
    except RecalldError as error:
        return error.message
    except OSError as error:
        return str(error)
    return ""


def _content(root: Path, path: str, largest: int) -> bytes | None:
    """Return the content of a plain file in the repo; None for anything else."""
    target = inside(root, path)
    try:
        descriptor = os.open(target, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        seen = os.fstat(descriptor)
        if not stat.S_ISREG(seen.st_mode) or seen.st_size > largest:
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def _expected(root: Path, path: str, expected: str) -> bytes:
    content = _content(root, path, LARGEST)
    if content is None:
        raise RefusedError(f"{path} is not there, or no plain file", suggestion="`recall reindex` looks again")
    if sha256(content).hexdigest() != expected:
        raise RefusedError(f"{path} was changed meanwhile; it is left as it is", suggestion="look at it, and try again")
    return content


def _move(root: Path, path: str, to: str, expected: str) -> None:
    """Give a file its new name beside the old one, never over another, then take the old name away."""
    _expected(root, path, expected)
    source, target = inside(root, path), inside(root, to)
    target.parent.mkdir(parents=True, exist_ok=True)
    inside(root, to)  # the folders that were made are where they should be
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        raise RefusedError(f"{to} is there already", suggestion="it is left as it is; move it away first") from None
    if sha256(target.read_bytes()).hexdigest() != expected:
        os.unlink(target)
        raise _saved(path)
    _let_go(source, target, path)


def _let_go(source: Path, target: Path, path: str) -> None:
    """Take the old name away, unless an editor put another file there since."""
    descriptor, aside = tempfile.mkstemp(prefix=".recall-", suffix=".tmp", dir=source.parent)
    os.close(descriptor)
    os.replace(source, aside)
    if os.path.samefile(aside, target):
        os.unlink(aside)
        return
    with suppress(FileExistsError):
        os.link(aside, source)
        os.unlink(aside)
    os.unlink(target)
    raise _saved(path)


def _take_away(root: Path, path: str, expected: str) -> None:
    """Remove a file, unless an editor put another there since: that one stays."""
    target = inside(root, path)
    descriptor, aside = tempfile.mkstemp(prefix=".recall-", suffix=".tmp", dir=target.parent)
    os.close(descriptor)
    os.replace(target, aside)
    if sha256(Path(aside).read_bytes()).hexdigest() != expected:
        with suppress(FileExistsError):
            os.link(aside, target)
            os.unlink(aside)
        raise _saved(path)
    os.unlink(aside)


def _saved(path: str) -> RefusedError:
    return RefusedError(f"{path} was saved meanwhile; it is left as it is", suggestion="try again")


def _remove(root: Path, path: str, expected: str) -> None:
    _expected(root, path, expected)
    os.unlink(inside(root, path))


def _without_empty_folders(root: Path, path: str) -> None:
    """Remove the folders above a path that have nothing in them, as git does."""
    folders = [] if ".." in path.split("/") else list(PurePosixPath(path).parents)[:-1]
    for folder in folders:
        try:
            (root / folder).rmdir()
        except OSError:
            return
