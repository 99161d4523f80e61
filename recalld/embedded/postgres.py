"""The embedded Postgres: initialise, start or adopt, restart, stop. Reached by unix socket and password only.

Below ``<state directory>/postgres`` lie ``data`` and ``run`` (the socket), owned by the user that Postgres runs as, and
``recalld.conf`` and ``server.log``, owned by the daemon's user: a daemon that is root writes nothing where another
user could have put a link.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Self
from urllib.parse import quote

import anyio
import anyio.to_thread

from recalld.embedded import postgres_settings
from recalld.embedded.account import hand_over, let_through, unprivileged
from recalld.embedded.binaries import POSTGRES_MAJOR, clean_environment, postgres_bin
from recalld.embedded.postgres_access import (
    PORT,
    USER,
    clear_socket,
    remove_socket_directory,
    socket_directory,
    superuser_password,
)
from recalld.embedded.postgres_orphans import find_postmaster, is_ready, remove_leftovers
from recalld.embedded.process import Account, ServerProcess, rotate, tail
from recalld.embedded.server import EmbeddedServer, failure, naming_the_file
from recalld.embedded.state import StatePaths, make_private, write_private
from recalld.errors import ConfigError, DependencyError, RecalldError

log = logging.getLogger(__name__)

DATABASE = "recalld"
_POLL_S = 0.02
_ADOPT_S = 5.0  # an orphan that takes longer to answer is replaced
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
        paths: StatePaths,
        *,
        password: str,
        account: Account | None,
        settings: Mapping[str, str],
        start_timeout: float,
    ) -> None:
        super().__init__()
        home = paths.postgres
        self._home = home
        self._data = home / "data"
        self._config = home / "recalld.conf"
        self._log = home / "server.log"
        self._sockets = socket_directory(home, account)
        self._bin = postgres_bin()
        self._password = password
        self._account = account
        self._settings = postgres_settings.render(settings)
        self._start_timeout = start_timeout

    @classmethod
    async def start(
        cls, state_dir: Path, *, settings: Mapping[str, str] | None = None, start_timeout: float = 120.0
    ) -> Self:
        """Initialise what is missing, adopt a healthy server that a killed daemon left, else start one.

        ``settings`` are Postgres settings beside and over the built-in ones. ``start_timeout`` (seconds) has to cover
        the recovery after a crash. Raises ConfigError (not installed, data of another version, a path that is
        unusable) and DependencyError (does not start, with the server's own reason).
        """
        with naming_the_file(cls.name):
            paths = StatePaths.of(state_dir)
            home = make_private(paths.postgres)
            account = unprivileged(home / "data")
            let_through(postgres_bin() / "postgres", account)
            let_through(home / "data", account)
            password, is_new = superuser_password(make_private(paths.credentials))
            server = cls(
                paths, password=password, account=account, settings=settings or {}, start_timeout=start_timeout
            )
            await server._open(set_password=is_new)
        return server

    @property
    def dsn(self) -> str:
        """The connection string, password included, for asyncpg, psycopg or psql."""
        return f"postgresql://{USER}:{self._password}@/{DATABASE}?host={quote(str(self._sockets))}&port={PORT}"

    async def ping(self) -> None:
        await self._psql("SELECT 1", DATABASE)

    async def stop(self) -> None:
        await super().stop()
        remove_socket_directory(self._sockets)

    async def _open(self, *, set_password: bool) -> None:
        if not self._data.exists():
            await self._initialise()
        else:
            self._check_version()
            found = find_postmaster(self._data)
            if found is not None and await self._adopt(ServerProcess.adopt(found), may_adopt=not set_password):
                return
            if set_password:
                await self._set_password()
        self._process = await self._launch()

    async def _adopt(self, process: ServerProcess, *, may_adopt: bool) -> bool:
        """Keep an orphan that runs our program with our settings and answers to our password; else stop it."""
        as_ours = process.runs(self._bin / "postgres") and self._is_configured() and is_ready(self._data)
        if may_adopt and as_ours:
            try:
                with anyio.fail_after(_ADOPT_S):
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

    def _is_configured(self) -> bool:
        return self._config.exists() and self._config.read_text() == self._settings

    def _check_version(self) -> None:
        file = self._data / "PG_VERSION"
        version = file.read_text().strip() if file.exists() else "unknown"
        if version != str(POSTGRES_MAJOR):
            raise ConfigError(
                f"{self._data} holds data of Postgres version {version}, the embedded one is {POSTGRES_MAJOR}",
                suggestion="carry it over with pg_upgrade or a dump by the old one, or set node.state_dir elsewhere",
            )

    async def _initialise(self) -> None:
        """Make the data directory under another name first, so that a kill half way leaves nothing to trip over."""
        fresh, secret = self._home / "data.new", self._home / "password.new"
        if fresh.exists():
            await anyio.to_thread.run_sync(shutil.rmtree, fresh)
        fresh.mkdir(mode=0o700)
        hand_over(fresh, self._account)
        write_private(secret, self._password.encode() + b"\n")
        try:
            hand_over(secret, self._account)
            await self._run("initdb", *_INITDB, f"--pwfile={secret}", f"--pgdata={fresh}")
        finally:
            secret.unlink(missing_ok=True)
        fresh.rename(self._data)

    async def _set_password(self) -> None:
        """The password's file was lost: set a new one in single-user mode, which asks for none."""
        await remove_leftovers(self._data)
        command = f"ALTER ROLE {USER} PASSWORD '{self._password}'\n"
        await self._run("postgres", "--single", "-D", str(self._data), "postgres", stdin=command.encode())

    async def _launch(self) -> ServerProcess:
        await remove_leftovers(self._data)
        clear_socket(socket_directory(self._home, self._account))  # made again: a cleaner of /tmp may have been there
        write_private(self._config, self._settings.encode())
        if self._account is not None:
            os.chown(self._config, -1, self._account.gid)
            self._config.chmod(0o640)
        rotate(self._log)
        command = [str(self._bin / "postgres"), "-D", str(self._data), "-c", f"config_file={self._config}"]
        command += ["-c", "listen_addresses=", "-k", str(self._sockets), "-p", str(PORT)]
        process = ServerProcess.spawn(
            command, log=self._log, cwd=self._home, env=clean_environment(), account=self._account
        )
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
                    raise failure("Postgres ended while starting", tail(self._log))
                await anyio.sleep(_POLL_S)
        if patience.cancelled_caught:
            raise failure(f"Postgres was not ready within {self._start_timeout:.0f} s", tail(self._log))

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
        command = [str(self._bin / "psql"), "-X", "-q", "-w", "-v", "ON_ERROR_STOP=1", "-c", sql]
        command += ["-h", str(self._sockets), "-p", str(PORT), "-U", USER, "-d", database]
        env = clean_environment() | {"PGPASSWORD": self._password, "PGCONNECT_TIMEOUT": "10"}
        done = await anyio.run_process(command, check=False, env=env)
        if done.returncode != 0:
            raise failure("Postgres does not answer", done.stderr.decode("utf-8", "replace").strip())

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
            raise failure(f"{program} failed", "\n".join(said.splitlines()[-12:]))
