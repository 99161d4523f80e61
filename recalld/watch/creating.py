"""Making a file of ours in a repo: whole or not at all, never over another, never outside. Blocking."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path, PurePosixPath

from recalld.errors import DependencyError, RefusedError, UsageError


def create(root: Path, path: str, text: str) -> None:
    """Make the file ``path`` below ``root``, with its folders.

    Raises UsageError for a path that leads elsewhere, RefusedError where something stands there already,
    DependencyError where the disk does not let us.
    """
    relative = PurePosixPath(path)
    if relative.is_absolute() or not relative.parts or ".." in relative.parts or "\x00" in path:
        raise UsageError(f"{path!r} is no path inside the repo")
    target = root / relative
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.parent.resolve().is_relative_to(root.resolve()):
            raise UsageError(f"{path!r} leads out of the repo by a symbolic link")
        _link_new(target, text)
    except FileExistsError:
        raise RefusedError(f"{path} exists already", suggestion="it is left as it is; choose another name") from None
    except OSError as error:
        raise DependencyError(
            f"{path} cannot be made: {error.strerror}", suggestion="see the repo's permissions"
        ) from error


def _link_new(target: Path, text: str) -> None:
    """Write beside the target, under a name that no watcher takes for a memo, and link it there once it is whole."""
    descriptor, name = tempfile.mkstemp(prefix=".recall-", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.link(name, target)
    finally:
        os.unlink(name)
