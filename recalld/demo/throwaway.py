"""A daemon for a few seconds: its own state, its own memory repo, and nothing left of it afterwards."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import anyio
import psutil
from anyio import to_thread

from recalld.bus.client import RecallClient
from recalld.embedded.state import read_client_credentials
from recalld.errors import DependencyError

REPO = "mooring"
START_S, STOP_S = 120.0, 15.0
"""How long the daemon may take to be ready, and to stop in order before it is killed."""
_LOG_TAIL = 2_000


@dataclass(frozen=True, slots=True)
class ThrowAway:
    """A running daemon. ``memory`` is the directory that it watches as the repo ``mooring``."""

    home: Path
    memory: Path
    pid: int
    started_in_s: float

    def client(self, agent: str) -> RecallClient:
        """Return a client of it. Raises DependencyError when the daemon has gone."""
        found = read_client_credentials(self.home / "state")
        if found is None:
            raise DependencyError("the demo's daemon has ended")
        return RecallClient(found.url, user=found.user, password=found.password, agent=agent)


@asynccontextmanager
async def throw_away(settings: Mapping[str, str]) -> AsyncIterator[ThrowAway]:
    """Start a daemon over a copy of the sample memory; stop it and remove all of it at the end, however that comes.

    ``settings`` are further settings, by dotted key. Raises DependencyError with the end of the daemon's log when it
    does not come up.
    """
    home = Path(tempfile.mkdtemp(prefix="recall-demo-"))
    process: subprocess.Popen[bytes] | None = None
    try:
        memory = _unpack(home)
        begun = time.perf_counter()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.bind(str(home / "notify"))
            notify.setblocking(False)
            process = _spawn(home, settings)
            await _until_ready(process, notify, home)
        yield ThrowAway(home, memory, process.pid, time.perf_counter() - begun)
    finally:
        with anyio.CancelScope(shield=True):
            if process is not None:
                await to_thread.run_sync(_stop, process, home)
            await to_thread.run_sync(shutil.rmtree, home, True)


def _unpack(home: Path) -> Path:
    """Copy the sample memory, and name it in a settings file: the user's own settings must not touch the demo."""
    memory = home / "memory"
    with resources.as_file(resources.files("recalld.demo") / "memory") as sample:
        shutil.copytree(sample, memory)
    (home / "recalld.toml").write_text(f'[[repos]]\nname = "{REPO}"\npath = "{memory}"\n')
    return memory


def _spawn(home: Path, settings: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start it in a session of its own: Ctrl-C in the terminal is for the demo, which then stops it in order."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RECALLD_")}
    environment = kept | {"NOTIFY_SOCKET": str(home / "notify")}
    for name in ("STATE_DIRECTORY", "CACHE_DIRECTORY", "CREDENTIALS_DIRECTORY", "WATCHDOG_USEC"):
        environment.pop(name, None)
    given = {"node.state_dir": str(home / "state"), "node.cache_dir": str(home / "cache")} | dict(settings)
    assignments = [word for key, value in given.items() for word in ("--set", f"{key}={value}")]
    with (home / "daemon.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "recalld", "run", "--config", str(home / "recalld.toml"), *assignments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


async def _until_ready(process: subprocess.Popen[bytes], notify: socket.socket, home: Path) -> None:
    with anyio.move_on_after(START_S):
        while process.poll() is None:
            with anyio.move_on_after(0.2):
                await anyio.wait_readable(notify)
                if b"READY=1" in notify.recv(4_096):
                    return
    why = "did not start in time" if process.poll() is None else f"ended with status {process.returncode}"
    log = (home / "daemon.log").read_text(errors="replace")[-_LOG_TAIL:].strip()
    raise DependencyError(
        f"the demo's daemon {why}:\n{log}", suggestion="`recalld doctor` says what is missing on this machine"
    )


def _stop(process: subprocess.Popen[bytes], home: Path) -> None:
    """Stop the daemon in order, and if need be with force, together with what it may have left."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for left in running_in(home):
        left.kill()


def running_in(home: Path) -> list[psutil.Process]:
    """Return the processes that were started on this directory: the daemon, and the servers that it embeds."""
    found = []
    for process in psutil.process_iter():
        try:
            if any(word.startswith(f"{home}/") for word in process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found
