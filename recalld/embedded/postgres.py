"""The embedded Postgres: initialise, start or adopt, restart, stop. Reached by unix socket and password only."""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import shutil
import signal
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Self
from urllib.parse import quote

import anyio
import anyio.to_thread

from recalld.embedded import postgres_settings
from recalld.embedded.account import hand_over, let_through, unprivileged
from recalld.embedded.binaries import POSTGRES_MAJOR, clean_environment, postgres_bin
from recalld.embedded.postgres_orphans import find_postmaster, is_ready, remove_leftovers
from recalld.embedded.process import Account, ServerProcess, rotate, tail
from recalld.embedded.server import EmbeddedServer
from recalld.embedded.state import StatePaths, make_private, read_json, write_private_json
from recalld.errors import ConfigError, DependencyError, RecalldError

log = logging.getLogger(__name__)

USER = DATABASE = "recalld"
PORT = 5432  # names the socket file, nothing listens on it
_POLL_S = 0.02
_LONGEST_SOCKET = 100  # sun_path is 108 bytes on Linux, 104 on macOS and the BSDs
_PREPARE = "SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS vector; ALTER EXTENSION vector UPDATE"
_INITDB = (
    f"--username={USER}",
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--no-locale",
    # The built-in C.UTF-8 sorts the same on every machine and after every upgrade of its libc, so indexes stay sound.
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-instructions",
)


class EmbeddedPostgres(EmbeddedServer):
    """A Postgres 18 with pgvector on ``<state directory>/postgres``, as a child of this process."""

    name: ClassVar[str] = "Postgres"
    # Fast shutdown rolls back and writes a checkpoint; immediate leaves recovery to the next start.
    stop_steps: ClassVar = ((signal.SIGINT, 6.0), (signal.SIGQUIT, 2.0))

    def __init__(
        self,
        home: Path,
        password: str,
        account: Account | None,
        overrides: Mapping[str, str],
        start_timeout: float,
    ) -> None:
        super().__init__()
        self._home = home
        self._data = home / "data"
        self._log = home / "server.log"
        self._password = password
        self._account = account
        self._overrides = overrides
        self._start_timeout = start_timeout
        self._bin = postgres_bin()
        self._sockets = _socket_directory(home, account)

    @classmethod
    async def start(
        cls, state_dir: Path, *, overrides: Mapping[str, str] | None = None, start_timeout: float = 120.0
    ) -> Self:
        """Initialise what is missing, adopt a healthy server that a killed daemon left, else start one.

        ``overrides`` are Postgres settings. ``start_timeout`` (seconds) has to cover the recovery after a crash.
        Raises ConfigError (not installed, data of another version), DependencyError (does not start, with the reason).
        """
        paths = StatePaths.of(state_dir)
        home = make_private(paths.postgres)
        account = unprivileged(home / "data")
        let_through(postgres_bin() / "postgres", account)
        let_through(home, account)
        hand_over(home, account)
        password, is_new = _password(make_private(paths.credentials))
        server = cls(home, password, account, overrides or {}, start_timeout)
        await server._open(set_password=is_new)
        return server

    @property
    def dsn(self) -> str:
        """The connection string, password included, for asyncpg, psycopg or psql."""
        return f"postgresql://{USER}:{self._password}@/{DATABASE}?host={quote(str(self._sockets))}&port={PORT}"

    async def ping(self) -> None:
        await self._psql("SELECT 1", DATABASE)

    async def _open(self, *, set_password: bool) -> None:
        if not self._data.exists():
            await self._initialise()
        else:
            self._check_version()
            found = find_postmaster(self._data)
            if found is not None and await self._adopt(ServerProcess.adopt(found), trusted=not set_password):
                return
            if set_password:
                await self._set_password()
        self._process = await self._launch()

    async def _adopt(self, process: ServerProcess, *, trusted: bool) -> bool:
        """Keep an orphan that answers; stop one that does not, or that runs another program than ours."""
        if trusted and is_ready(self._data) and process.runs(self._bin / "postgres"):
            try:
                with anyio.fail_after(5):
                    await self._prepare()
            except (RecalldError, TimeoutError) as error:
                log.warning("Postgres of an earlier daemon (pid %d) is not well: %s", process.pid, error or "no answer")
            else:
                log.warning("adopted the Postgres that an earlier daemon left running (pid %d)", process.pid)
                self._process = process
                return True
        log.warning("replacing the Postgres that an earlier daemon left running (pid %d)", process.pid)
        await process.stop(self.stop_steps)
        return False

    def _check_version(self) -> None:
        version = (self._data / "PG_VERSION").read_text().strip() if (self._data / "PG_VERSION").exists() else "none"
        if version != str(POSTGRES_MAJOR):
            raise ConfigError(
                f"{self._data} holds data of Postgres version {version}, the embedded one is {POSTGRES_MAJOR}",
                suggestion="upgrade it with pg_upgrade or a dump of the old version, or set node.state_dir elsewhere",
            )

    async def _initialise(self) -> None:
        """Make the data directory under another name first, so that a kill half way leaves nothing to trip over."""
        fresh, secret = self._home / "data.new", self._home / "password.new"
        await anyio.to_thread.run_sync(_remove_tree, fresh)
        secret.unlink(missing_ok=True)
        handle = os.open(secret, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(self._password + "\n")
        try:
            hand_over(secret, self._account)
            await self._run("initdb", *_INITDB, f"--pwfile={secret}", f"--pgdata={fresh}")
        finally:
            secret.unlink(missing_ok=True)
        with (fresh / "postgresql.conf").open("a") as file:
            file.write(f"\ninclude_if_exists = '{postgres_settings.FILE}'\n")
        fresh.rename(self._data)

    async def _set_password(self) -> None:
        """The password's file was lost: set a new one in single-user mode, which asks for none."""
        command = f"ALTER ROLE {USER} PASSWORD '{self._password}'\n"
        await self._run("postgres", "--single", "-D", str(self._data), "postgres", stdin=command.encode())

    async def _launch(self) -> ServerProcess:
        await remove_leftovers(self._data)
        settings = self._data / postgres_settings.FILE
        settings.write_text(postgres_settings.render(self._overrides))
        hand_over(settings, self._account)
        rotate(self._log)
        process = ServerProcess.spawn(
            [str(self._bin / "postgres"), "-D", str(self._data), "-c", "listen_addresses=", "-k", str(self._sockets),
             "-p", str(PORT), "-c", "logging_collector=off"],
            log=self._log, cwd=self._home, env=clean_environment(), account=self._account,
        )  # fmt: skip
        try:
            await self._wait_ready(process)
            await self._prepare()
        except BaseException:
            await process.stop(self.stop_steps)
            raise
        return process

    async def _wait_ready(self, process: ServerProcess) -> None:
        with anyio.move_on_after(self._start_timeout) as patience:
            while not is_ready(self._data, process.pid):
                if not process.alive():
                    raise _failure("Postgres ended while starting", tail(self._log))
                await anyio.sleep(_POLL_S)
        if patience.cancelled_caught:
            raise _failure(f"Postgres was not ready within {self._start_timeout:.0f} s", tail(self._log))

    async def _prepare(self) -> None:
        """See that the database, and pgvector as this wheel has it, are there. Also proves that our password works."""
        try:
            await self._psql(_PREPARE, DATABASE)
        except DependencyError as error:
            if f'database "{DATABASE}" does not exist' not in error.message:
                raise
            await self._psql(f"CREATE DATABASE {DATABASE}", "postgres")
            await self._psql(_PREPARE, DATABASE)

    async def _psql(self, sql: str, database: str) -> None:
        command = [str(self._bin / "psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", str(self._sockets),
                   "-p", str(PORT), "-U", USER, "-d", database, "-w", "-c", sql]  # fmt: skip
        env = clean_environment() | {"PGPASSWORD": self._password, "PGCONNECT_TIMEOUT": "10"}
        done = await anyio.run_process(command, check=False, env=env)
        if done.returncode != 0:
            raise _failure("Postgres does not answer", done.stderr.decode("utf-8", "replace").strip())

    async def _run(self, program: str, *arguments: str, stdin: bytes | None = None) -> None:
        account = self._account
        done = await anyio.run_process(
            [str(self._bin / program), *arguments],
            check=False,
            input=stdin,
            cwd=self._home,
            env=clean_environment(),
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )
        said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
        if done.returncode != 0 or "ERROR:" in said:
            raise _failure(f"{program} failed", "\n".join(said.splitlines()[-12:]))


def _password(credentials: Path) -> tuple[str, bool]:
    """Return the superuser's password and whether it was made just now."""
    path = credentials / "postgres.json"
    known = (read_json(path) or {}).get("password")
    if isinstance(known, str) and known:
        return known, False
    password = secrets.token_urlsafe(32)
    write_private_json(path, {"user": USER, "password": password})
    return password, True


def _socket_directory(home: Path, account: Account | None) -> Path:
    """Return where the socket lies: beside the data, or where that is too long for a socket, in a short directory."""
    directory = home / "run"
    if len(os.fsencode(directory / f".s.PGSQL.{PORT}")) > _LONGEST_SOCKET:
        name = f"recalld-{os.geteuid()}-{hashlib.sha256(os.fsencode(home)).hexdigest()[:12]}"
        directory = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()) / name
    directory.mkdir(mode=0o700, exist_ok=True)
    status = directory.lstat()
    owners = {os.geteuid()} | ({account.uid} if account else set())
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in owners or status.st_mode & 0o077:
        raise ConfigError(f"{directory} is not a private directory of ours; the socket of Postgres cannot go there")
    let_through(directory, account)
    hand_over(directory, account)
    return directory


def _remove_tree(path: Path) -> None:
    if path.exists():
        shutil.rmtree(path)


def _failure(what: str, said: str) -> DependencyError:
    """Return the error with the server's last words and, for the usual causes, what to do."""
    causes = {
        "No space left on device": "free some disk space, then start again: nothing is lost",
        "Disk quota exceeded": "free some disk space, then start again: nothing is lost",
        "Permission denied": "make the state directory readable for the user that Postgres runs as",
        "Cannot allocate memory": "give the machine or container more memory",
        "password authentication failed": "remove credentials/postgres.json while recalld is stopped: a new one is set",
    }
    hint = next((suggestion for phrase, suggestion in causes.items() if phrase in said), "")
    return DependencyError(f"{what}: {said or 'it said nothing'}", suggestion=hint)
