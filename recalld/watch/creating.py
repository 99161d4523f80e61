"""Writing in a repo: a file of ours, never over another and never outside, or an edit that a person asked for.

Whole or not at all, and nothing that was saved meanwhile is lost. Blocking.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path, PurePosixPath

from recalld.errors import DependencyError, RefusedError, UsageError


def create(root: Path, path: str, text: str) -> None:
    """Make the text file ``path`` below ``root``, with its folders. Raises as :func:`create_bytes`."""
    create_bytes(root, path, text.encode())


def create_bytes(root: Path, path: str, content: bytes) -> None:
    """Make the file ``path`` below ``root``, with its folders.

    Raises UsageError for a path that leads elsewhere, RefusedError where something stands there already,
    DependencyError where the root is gone or the disk does not let us.
    """
    try:
        target = inside(root, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        _link_new(target, content)
    except FileExistsError:
        raise RefusedError(f"{path} exists already", suggestion="it is left as it is; choose another name") from None
    except OSError as error:
        raise DependencyError(
            f"{path} cannot be made: {error.strerror}", suggestion="see the repo's permissions"
        ) from error


def inside(root: Path, path: str) -> Path:
    """Return where a repo-relative path is on disk; there need be nothing there.

    Raises UsageError for a path that leads elsewhere, by its own words or by a symbolic link above it, DependencyError
    where the root is gone.
    """
    relative = PurePosixPath(path)
    if relative.is_absolute() or not relative.parts or ".." in relative.parts or "\x00" in path:
        raise UsageError(f"{path!r} is no path inside the repo")
    if not root.is_dir():  # a drive that is not mounted: made anew, it would look like a repo whose files are all gone
        raise DependencyError(f"{root} is not there", suggestion="mount it, or remove the repo: `recall repo remove`")
    target = root / relative
    if not target.parent.resolve().is_relative_to(root.resolve()):
        raise UsageError(f"{path!r} leads out of the repo by a symbolic link")
    return target


def replace(path: Path, before: bytes, after: bytes) -> None:
    """Put ``after`` in the place of a file's content, which must still be ``before``.

    Raises RefusedError where it is not, DependencyError where the disk does not let us.
    """
    path = path.resolve()
    name = ""
    try:
        mode = path.stat().st_mode
        descriptor, name = tempfile.mkstemp(prefix=".recall-", suffix=".tmp", dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(after)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode & 0o7777)
        if path.read_bytes() != before:
            raise RefusedError(f"{path.name} was saved meanwhile; it is left as it is", suggestion="try again")
        os.replace(name, path)
        name = ""
    except OSError as error:
        raise DependencyError(
            f"{path} cannot be written: {error.strerror}", suggestion="see its permissions"
        ) from error
    finally:
        if name:
            os.unlink(name)


def _link_new(target: Path, content: bytes) -> None:
    """Write beside the target, under a name that no watcher takes for a memo, and link it there once it is whole."""
    descriptor, name = tempfile.mkstemp(prefix=".recall-", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.link(name, target)
    finally:
        os.unlink(name)
