"""The state directory: who holds it, what lies in it, and the credentials that open its servers.

One daemon owns one state directory for its life, by a file lock that the kernel drops with the process. Directories
are made 0700 and files 0600; credential files are replaced atomically, so that a reader never sees half of one.
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import psutil
from filelock import FileLock, Timeout

from recalld.errors import ConfigError, StateHeldError

_LOCK = "recalld.lock"
_HOLDER = "holder.json"
_CLIENT = "client.json"
_NOTED_TO_S = 1.0
"""How exactly a holder notes the time."""


@dataclass(frozen=True, slots=True)
class StatePaths:
    """Where things lie below one state directory."""

    root: Path

    @classmethod
    def of(cls, state_dir: Path) -> Self:
        """Return the places below a directory given as a user writes it."""
        return cls(state_dir.expanduser().absolute())

    @property
    def postgres(self) -> Path:
        """The embedded Postgres: data, socket, log."""
        return self.root / "postgres"

    @property
    def nats(self) -> Path:
        """The embedded NATS server: configuration, JetStream, log."""
        return self.root / "nats"

    @property
    def credentials(self) -> Path:
        """Generated passwords, one JSON file a purpose."""
        return self.root / "credentials"


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """What a program of the same user on the same machine needs to reach the daemon."""

    url: str
    """As nats://user:password@127.0.0.1:port; complete by itself."""
    node: str
    """The daemon's name on the bus."""
    pid: int
    """The daemon's process."""

    @classmethod
    def of_process(cls, url: str, node: str) -> Self:
        """Return the credentials that this process, the daemon, leaves for its clients."""
        return cls(url, node, os.getpid())

    @property
    def user(self) -> str:
        """The user name in the url."""
        return urlsplit(self.url).username or ""

    @property
    def password(self) -> str:
        """The password in the url."""
        return urlsplit(self.url).password or ""


class StateDirectory:
    """A state directory held by this process. ``with StateDirectory.acquire(path) as state: ...``."""

    def __init__(self, path: Path, lock: FileLock) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def acquire(cls, path: Path) -> Self:
        """Make the directory where needed and hold it until :meth:`release` or the end of the process.

        Raises StateHeldError when another daemon holds it, ConfigError when it cannot be made or written.
        """
        path = path.expanduser().absolute()
        try:
            make_private(path)
            lock = FileLock(path / _LOCK, timeout=0, mode=0o600, thread_local=False)
            lock.acquire()
        except Timeout:
            raise StateHeldError(*_held_by(path)) from None
        except OSError as error:
            raise ConfigError(
                f"state directory {path} cannot be used: {error.strerror or error}",
                suggestion="set node.state_dir (or $XDG_STATE_HOME) to a directory that this user may write",
            ) from error
        held = cls(path, lock)
        try:
            held._introduce()
        except BaseException:
            lock.release()
            raise
        return held

    def paths(self) -> StatePaths:
        """Return the places below this directory, each made 0700."""
        paths = StatePaths(self.path)
        for directory in (paths.postgres, paths.nats, paths.credentials):
            make_private(directory)
        return paths

    def release(self) -> None:
        """Let the next daemon have it. Safe to call again."""
        if self._lock.is_locked:
            (self.path / _HOLDER).unlink(missing_ok=True)
            self._lock.release()

    def _introduce(self) -> None:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        write_private_json(self.path / _HOLDER, {"pid": os.getpid(), "host": socket.gethostname(), "since": since})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.release()


@dataclass(frozen=True, slots=True)
class Holder:
    """The daemon that holds a state directory."""

    pid: int
    since: str
    """When it took the directory (ISO 8601)."""


def holder_of(state_dir: Path) -> Holder | None:
    """Return the running daemon that holds a state directory; None when there is none on this machine.

    A note that a killed daemon left is seen through: its process is gone, or is a younger one with the same number.
    """
    found = read_json(StatePaths.of(state_dir).root / _HOLDER) or {}
    try:
        holder = Holder(int(found["pid"]), str(found["since"]))
        noted_at = datetime.fromisoformat(holder.since).timestamp()
        started_at = psutil.Process(holder.pid).create_time()
    except (KeyError, ValueError, TypeError, psutil.Error):
        return None
    return holder if found.get("host") == socket.gethostname() and started_at <= noted_at + _NOTED_TO_S else None


def _held_by(path: Path) -> tuple[str, ...]:
    holder = read_json(path / _HOLDER) or {}
    who = " ".join(
        f"{word} {holder[key]}" for word, key in (("pid", "pid"), ("on", "host"), ("since", "since")) if key in holder
    )
    return (f"state directory {path} is held by another recalld ({who or 'which has not said its name yet'})",)


def make_private(directory: Path) -> Path:
    """Make a directory, and its missing parents, 0700. An existing one keeps its mode. Raises OSError."""
    for missing in reversed([p for p in (directory, *directory.parents) if not p.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
    return directory


def write_private(path: Path, content: bytes) -> None:
    """Replace a file, 0600, in one step that survives a power cut. Raises OSError."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mkstemp makes it 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def write_private_json(path: Path, value: Mapping[str, Any]) -> None:
    """As :func:`write_private`, for a JSON object."""
    write_private(path, json.dumps(value).encode() + b"\n")


def read_json(path: Path) -> dict[str, Any] | None:
    """Return the file's JSON object; None when it is missing or is none (then its writer makes it anew)."""
    try:
        value = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def write_client_credentials(state_dir: Path, credentials: ClientCredentials) -> None:
    """Tell this user's programs how to reach the daemon. Raises OSError."""
    directory = make_private(StatePaths(state_dir).credentials)
    write_private_json(directory / _CLIENT, asdict(credentials))


def read_client_credentials(state_dir: Path) -> ClientCredentials | None:
    """Return what the daemon of this directory left for its clients; None when none has run here.

    Raises ConfigError when the file belongs to somebody who may not share it with this user.
    """
    path = StatePaths(state_dir).credentials / _CLIENT
    try:
        found = read_json(path)
    except PermissionError as error:
        raise ConfigError(
            f"{path} may not be read by this user",
            suggestion="run as the daemon's user, or set bus.servers, bus.user and bus.password",
        ) from error
    try:
        return ClientCredentials(str(found["url"]), str(found["node"]), int(found["pid"])) if found else None
    except (KeyError, ValueError, TypeError):
        return None


def clear_client_credentials(state_dir: Path) -> None:
    """Say that no daemon answers here any more. Raises OSError."""
    (StatePaths(state_dir).credentials / _CLIENT).unlink(missing_ok=True)
