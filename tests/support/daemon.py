"""A real `recalld run` as a subprocess, ready when it says so to its NOTIFY_SOCKET."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import psutil
from anyio import to_thread

from recalld.bus.client import RecallClient
from recalld.embedded.state import ClientCredentials, read_client_credentials

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 15.0


@dataclass
class Daemon:
    """One daemon process and what is needed to talk to it."""

    state_dir: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = None
    status: list[str] = field(default_factory=list)

    @property
    def log(self) -> Path:
        return self.state_dir / "daemon.log"

    async def start(self) -> None:
        """Start and wait for READY=1; raise with the log's tail when the process ends instead."""
        self.state_dir.mkdir(parents=True, exist_ok=True)
        directory = tempfile.mkdtemp(prefix="rn")
        address = os.path.join(directory, "notify")
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
                notify.bind(address)
                notify.settimeout(0.2)
                self._spawn(address)
                with anyio.fail_after(START_TIMEOUT_S):
                    await to_thread.run_sync(self._until_ready, notify, abandon_on_cancel=True)
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def _spawn(self, notify: str) -> None:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("RECALLD_")},
            "RECALLD_NODE__STATE_DIR": str(self.state_dir),
            "RECALLD_EMBED__MODEL": "hashing",
            **self.environment,
            "NOTIFY_SOCKET": notify,
        }
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "recalld", "run", *self.arguments],
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _until_ready(self, notify: socket.socket) -> None:
        assert self.process is not None
        while True:
            try:
                message = notify.recv(4096).decode()
            except TimeoutError:
                if self.process.poll() is not None:
                    raise RuntimeError(f"recalld ended with {self.process.returncode}:\n{self.tail()}") from None
                continue
            self.status.append(message)
            if "READY=1" in message:
                return

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-4_000:]

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def credentials(self) -> ClientCredentials:
        """What the daemon left for this user's clients."""
        credentials = read_client_credentials(self.state_dir)
        assert credentials is not None
        return credentials

    def client(self, agent: str = "tester") -> RecallClient:
        """Return a client for this daemon; use it as an async context manager."""
        credentials = self.credentials()
        return RecallClient(credentials.url, user=credentials.user, password=credentials.password, agent=agent)

    async def wait(self, timeout: float = STOP_TIMEOUT_S) -> int:
        assert self.process is not None
        with anyio.fail_after(timeout):
            return await to_thread.run_sync(self.process.wait, abandon_on_cancel=True)

    async def stop(self, timeout: float = STOP_TIMEOUT_S) -> int:
        """SIGTERM, then wait for the orderly end; returns the exit status."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return await self.wait(timeout)

    def children(self, name: str) -> list[psutil.Process]:
        """The daemon's own Postgres or NATS server."""
        return [child for child in psutil.Process(self.pid).children() if child.name().startswith(name)]

    async def kill(self) -> None:
        """kill -9: what a crash looks like."""
        assert self.process is not None
        self.process.kill()
        await self.wait()


@asynccontextmanager
async def running(state_dir: Path, *arguments: str, **environment: str) -> AsyncIterator[Daemon]:
    """A started daemon that is stopped at the end, whatever happened."""
    daemon = Daemon(state_dir, environment, arguments)
    await daemon.start()
    try:
        yield daemon
    finally:
        with anyio.CancelScope(shield=True):
            await daemon.stop()
