"""Postgres refuses to run as root: when the daemon is root, its Postgres runs as an ordinary user.

No user is created and nothing outside the server's own directory changes hands. The one thing that may have to be
widened is the right to pass through (not to list) the directories above the program and the data, e.g. a /root of mode
0700; each is named in the log.
"""

from __future__ import annotations

import logging
import os
import pwd
import stat
from pathlib import Path

from recalld.embedded.process import Account
from recalld.errors import ConfigError

log = logging.getLogger(__name__)

_CANDIDATES = ("recalld", "postgres", "nobody")


def unprivileged(directory: Path) -> Account | None:
    """Return the user that a server with data in ``directory`` runs as; None when that is simply this process's user.

    The owner of existing data stays; else the first of recalld, postgres and nobody that the system knows.
    """
    if os.geteuid() != 0:
        return None
    owner = directory.stat().st_uid if directory.exists() else 0
    found = _by_uid(owner) if owner else _first_known()
    if found is None:
        raise ConfigError(
            "Postgres does not run as root, and this system has no user recalld, postgres or nobody to run it as",
            suggestion="run recalld as an ordinary user, or set store.dsn",
        )
    return Account(found.pw_name, found.pw_uid, found.pw_gid)


def _by_uid(uid: int) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwuid(uid)
    except KeyError:
        return None


def _first_known() -> pwd.struct_passwd | None:
    for name in _CANDIDATES:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None


def hand_over(path: Path, account: Account | None) -> None:
    """Give one file or directory (not what is below) to the account. Raises OSError."""
    if account is not None:
        os.chown(path, account.uid, account.gid, follow_symlinks=False)


def let_through(path: Path, account: Account | None) -> None:
    """Make sure that the account can reach ``path``: add ``o+x`` to the directories above it that bar the way.

    Raises OSError.
    """
    if account is None:
        return
    for directory in reversed(path.resolve().parents):
        status = directory.stat()
        if _passes(status, account):
            continue
        log.warning(
            "root's Postgres runs as user %s, who must pass through %s: adding o+x to its mode %o",
            account.name, directory, stat.S_IMODE(status.st_mode),
        )  # fmt: skip
        directory.chmod(stat.S_IMODE(status.st_mode) | stat.S_IXOTH)


def _passes(status: os.stat_result, account: Account) -> bool:
    if status.st_uid == account.uid:
        return bool(status.st_mode & stat.S_IXUSR)
    if status.st_gid == account.gid:
        return bool(status.st_mode & stat.S_IXGRP)
    return bool(status.st_mode & stat.S_IXOTH)
