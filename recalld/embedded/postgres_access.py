"""How the embedded Postgres is reached: a private directory for its socket, and the superuser's password."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from recalld.embedded.account import hand_over, let_through
from recalld.embedded.process import Account
from recalld.embedded.state import read_json, write_private_json
from recalld.errors import ConfigError

USER = "recalld"
PORT = 5432  # names the socket file, nothing listens on it
_LONGEST = 100  # sun_path is 108 bytes on Linux, 104 on macOS and the BSDs


def superuser_password(credentials: Path) -> tuple[str, bool]:
    """Return the superuser's password, and whether it was made just now. Raises OSError."""
    path = credentials / "postgres.json"
    known = (read_json(path) or {}).get("password")
    if isinstance(known, str) and known:
        return known, False
    password = secrets.token_urlsafe(32)
    write_private_json(path, {"user": USER, "password": password})
    return password, True


def socket_directory(home: Path, account: Account | None) -> Path:
    """Make and return the directory of the socket: beside the data, or where that cannot be, a short one of ours.

    Raises ConfigError when no private directory of ours is to be had, OSError.
    """
    directory = next((path for path in _candidates(home) if _suits(path)), None)
    if directory is None:
        raise ConfigError(
            f"every path for the socket of Postgres is over {_LONGEST} bytes",
            suggestion="set node.state_dir or TMPDIR to a shorter path",
        )
    directory.mkdir(mode=0o700, exist_ok=True)
    status = directory.lstat()
    owners = {os.geteuid()} | ({account.uid} if account else set())
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in owners or status.st_mode & 0o077:
        raise ConfigError(
            f"{directory} is not a private directory of ours, so the socket of Postgres cannot go there",
            suggestion=f"see who made it, and remove it: recalld makes it anew (mode {stat.S_IMODE(status.st_mode):o})",
        )
    let_through(directory, account)
    hand_over(directory, account)
    return directory


def clear_socket(directory: Path) -> None:
    """Remove the socket of a server that was killed: its lock file bars the next one while that pid is in use again."""
    for name in (f".s.PGSQL.{PORT}", f".s.PGSQL.{PORT}.lock"):
        (directory / name).unlink(missing_ok=True)


def remove_socket_directory(directory: Path) -> None:
    """Remove the directory unless something is in it, e.g. the socket of a server that did not stop."""
    with suppress(OSError):
        directory.rmdir()


def _candidates(home: Path) -> list[Path]:
    short = f"recalld-{os.geteuid()}-{hashlib.sha256(os.fsencode(home)).hexdigest()[:12]}"
    elsewhere = (os.environ.get("RUNTIME_DIRECTORY"), os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir())
    return [home / "run", *(Path(place.split(":")[0]) / short for place in elsewhere if place)]


def _suits(directory: Path) -> bool:
    """The socket's path is limited in length, and a list of them is what Postgres and libpq read at a comma."""
    path = os.fsencode(directory / f".s.PGSQL.{PORT}")
    return len(path) <= _LONGEST and not set(b',"') & set(path) and directory.parent.is_dir()
