"""The embedded NATS server with JetStream: start or adopt, restart, stop. On 127.0.0.1 only, behind a password."""

from __future__ import annotations

import json
import logging
import secrets
import signal
import socket
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import anyio
import psutil

from recalld.embedded.binaries import clean_environment, nats_server
from recalld.embedded.process import ServerProcess, rotate, tail
from recalld.embedded.server import EmbeddedServer, failure, naming_the_file
from recalld.embedded.state import StatePaths, make_private, read_json, write_private, write_private_json
from recalld.errors import DependencyError, RecalldError

log = logging.getLogger(__name__)

HOST = "127.0.0.1"
USER = "recalld"
# The server's own default, and so what an external server most likely has, too: 512 KiB of content and its headers fit.
MAX_PAYLOAD = 1 << 20
_JETSTREAM = {
    "max_memory_store": "64MB",  # all streams are on disk
    # On disk before it is acknowledged. The server's default, every 2 minutes, could lose the end of a stream in a
    # power cut and then give its sequence numbers away again, below those that Postgres has already committed: newer
    # snapshots would count as outdated. Measured: 0.57 ms a message of 2 KB against 0.35 ms, still 3,000 a second.
    "sync_interval": "always",
}
_POLL_S = 0.01
_PING_S = 5.0
_PORT_TRIES = 3


@dataclass(frozen=True, slots=True)
class Access:
    """Address and password; kept, so that clients find the server again after a restart."""

    port: int
    password: str

    @property
    def url(self) -> str:
        return f"nats://{USER}:{self.password}@{HOST}:{self.port}"


class EmbeddedNats(EmbeddedServer):
    """A NATS server with its data in ``<state directory>/nats``, as a child of this process."""

    name: ClassVar[str] = "NATS"
    # SIGTERM flushes and closes JetStream; SIGKILL loses nothing that was acknowledged, the next start reads it back.
    stop_steps: ClassVar = ((signal.SIGTERM, 5.0),)

    def __init__(self, paths: StatePaths, access: Access, options: Mapping[str, str], start_timeout: float) -> None:
        super().__init__()
        self._home = paths.nats
        self._credentials = paths.credentials / "nats.json"
        self._log = self._home / "server.log"
        self._config = self._home / "nats.conf"
        self._access = access
        self._options = options
        self._start_timeout = start_timeout
        self._program = nats_server()

    @classmethod
    async def start(
        cls, state_dir: Path, *, options: Mapping[str, str] | None = None, start_timeout: float = 60.0
    ) -> Self:
        """Adopt a healthy server that a killed daemon left, else start one on the port of last time where it is free.

        ``options`` are further settings of JetStream (``sync_interval``, ``max_file_store`` ...). ``start_timeout``
        (seconds) has to cover reading the streams back. Raises ConfigError (not installed), DependencyError.
        """
        with naming_the_file(cls.name):
            paths = StatePaths.of(state_dir)
            make_private(paths.nats)
            make_private(paths.credentials)
            access = _known_access(paths.credentials / "nats.json") or Access(0, secrets.token_urlsafe(32))
            server = cls(paths, access, options or {}, start_timeout)
            if not await server._adopt():
                server._process = await server._launch()
        return server

    @property
    def url(self) -> str:
        """The address with user and password."""
        return self._access.url

    async def ping(self) -> None:
        try:
            with anyio.fail_after(_PING_S):
                await handshake(self._access)
        except (OSError, TimeoutError, anyio.EndOfStream, ValueError) as error:
            raise DependencyError(f"the embedded NATS does not answer: {error or 'no reply in time'}") from error

    async def _adopt(self) -> bool:
        """Keep an orphan that runs our program with our settings and answers to our password; else stop it."""
        found = self._find()
        if found is None:
            return False
        process = ServerProcess.adopt(found)
        if process.runs(self._program) and self._config.exists() and self._config.read_text() == self._render():
            try:
                await self.ping()
            except RecalldError as error:
                log.warning("NATS of an earlier daemon (pid %d) is not well: %s", process.pid, error)
            else:
                log.warning("adopted the NATS server that an earlier daemon left running (pid %d)", process.pid)
                self._process = process
                return True
        log.warning("replacing the NATS server that an earlier daemon left running (pid %d)", process.pid)
        await process.stop(self.stop_steps)
        return False

    def _find(self) -> psutil.Process | None:
        """Return the running server of this directory, judged by its command line, not by the pid file alone."""
        try:
            process = psutil.Process(int((self._home / "nats.pid").read_text()))
            return process if str(self._config) in process.cmdline() else None
        except (FileNotFoundError, ValueError, psutil.Error):
            return None

    async def _launch(self) -> ServerProcess:
        for _ in range(_PORT_TRIES):
            port = _free_port(self._access.port)
            if self._access.port not in (0, port):
                log.warning(
                    "port %d is taken by another program, the embedded NATS moves to %d", self._access.port, port
                )
            self._access = Access(port, self._access.password)
            rotate(self._log)
            mark = self._log.stat().st_size if self._log.exists() else 0
            write_private(self._config, self._render().encode())
            process = ServerProcess.spawn(
                [str(self._program), "-c", str(self._config)], log=self._log, cwd=self._home, env=clean_environment()
            )
            if await self._came_up(process):
                write_private_json(self._credentials, {"user": USER, "password": self._access.password, "port": port})
                return process
            if b"address already in use" not in _since(self._log, mark):
                break
        raise failure("the embedded NATS did not start", tail(self._log))

    async def _came_up(self, process: ServerProcess) -> bool:
        """Wait until it takes our password. A server listens only once JetStream is restored."""
        try:
            with anyio.move_on_after(self._start_timeout):
                while process.alive():
                    try:
                        await handshake(self._access)
                    except (OSError, anyio.EndOfStream):
                        await anyio.sleep(_POLL_S)
                    except ValueError as error:  # somebody else's server has that port
                        log.warning("port %d: %s", self._access.port, error)
                        break
                    else:
                        return True
        except BaseException:
            await process.stop(self.stop_steps)
            raise
        await process.stop(self.stop_steps)
        return False

    def _render(self) -> str:
        jetstream = {"store_dir": json.dumps(str(self._home / "jetstream"))} | _JETSTREAM | dict(self._options)
        lines = [
            "# Written by recalld at each start.",
            'server_name: "recalld"',
            f"host: {HOST}",
            f"port: {self._access.port}",
            f"max_payload: {MAX_PAYLOAD}",
            f"pid_file: {json.dumps(str(self._home / 'nats.pid'))}",
            "jetstream {",
            *(f"  {name}: {value}" for name, value in jetstream.items()),
            "}",
            f'authorization {{ user: {USER}, password: "{self._access.password}" }}',
        ]
        return "\n".join([*lines, ""])


async def handshake(access: Access) -> dict[str, Any]:
    """Log in as a client would, and return what the server says of itself.

    Raises OSError or anyio.EndOfStream (nobody there, or hung up), ValueError (another server, or a wrong password).
    """
    async with await anyio.connect_tcp(HOST, access.port) as stream:
        lines = _Lines(stream)
        greeting = await lines.next()
        if not greeting.startswith("INFO "):
            raise ValueError("is not a NATS server")
        hello = {"verbose": False, "pedantic": False, "user": USER, "pass": access.password, "name": "recalld-ping"}
        await stream.send(f"CONNECT {json.dumps(hello)}\r\nPING\r\n".encode())
        reply = await lines.next()
        while reply.startswith(("INFO ", "PING")):
            reply = await lines.next()
        if reply != "PONG":
            raise ValueError(f"the server there refuses us: {reply}")
        info: dict[str, Any] = json.loads(greeting.removeprefix("INFO "))
        return info


class _Lines:
    def __init__(self, stream: anyio.abc.ByteReceiveStream) -> None:
        self._stream = stream
        self._buffer = b""

    async def next(self) -> str:
        while b"\r\n" not in self._buffer:
            self._buffer += await self._stream.receive()
            if len(self._buffer) > 1 << 16:
                raise ValueError("is not a NATS server")
        line, _, self._buffer = self._buffer.partition(b"\r\n")
        return line.decode("utf-8", "replace")


def _known_access(path: Path) -> Access | None:
    found = read_json(path) or {}
    port, password = found.get("port"), found.get("password")
    return Access(port, password) if isinstance(port, int) and isinstance(password, str) and password else None


def _free_port(preferred: int) -> int:
    """Return the preferred port when it is free, else any free one."""
    for port in (preferred, 0) if preferred else (0,):
        with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port in TIME_WAIT is free for a listener
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise DependencyError("no free TCP port on 127.0.0.1 for the embedded NATS")


def _since(log_file: Path, mark: int) -> bytes:
    with log_file.open("rb") as file:
        file.seek(mark)
        return file.read()
