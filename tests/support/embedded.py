"""Embedded servers that belong to another process, which a test can kill, as another user where it wants."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import psutil
from anyio import to_thread

from recalld.embedded.nats import EmbeddedNats
from recalld.embedded.postgres import EmbeddedPostgres
from recalld.embedded.server import EmbeddedServer

KINDS: dict[str, type[EmbeddedPostgres] | type[EmbeddedNats]] = {"postgres": EmbeddedPostgres, "nats": EmbeddedNats}
_ROOT = Path(__file__).parents[2]


@dataclass
class Owner:
    """A process that started a server, as a daemon does."""

    process: subprocess.Popen[str]
    server_pid: int

    def kill(self) -> None:
        """kill -9: its server is an orphan then."""
        self.process.kill()
        self.process.wait()


@asynccontextmanager
async def owner(kind: str, state_dir: Path, *, user: str | None = None) -> AsyncIterator[Owner]:
    """Start a server from another process; at the end stop that process in order, where it still runs."""
    process = await to_thread.run_sync(_start, kind, state_dir, user)
    try:
        assert process.stdout is not None
        with anyio.fail_after(30):
            line = await to_thread.run_sync(process.stdout.readline, abandon_on_cancel=True)
        if not line.strip():
            raise RuntimeError(f"no {kind}: {process.communicate()[1][-4_000:]}")
        yield Owner(process, int(line))
    finally:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(_end, process)


def _start(kind: str, state_dir: Path, user: str | None) -> subprocess.Popen[str]:
    record = pwd.getpwnam(user) if user else None
    return subprocess.Popen(
        [python_for(user), "-m", "tests.support.embedded", kind, str(state_dir)],
        cwd=_ROOT,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        user=record.pw_uid if record else None,
        group=record.pw_gid if record else None,
        extra_groups=[] if record else None,
    )


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise


def _environment() -> dict[str, str]:
    """What lets another interpreter of the same version find what this one runs."""
    path = os.pathsep.join([str(_ROOT), *(entry for entry in sys.path if entry.endswith("-packages"))])
    return {"PATH": os.environ.get("PATH", os.defpath), "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


def python_for(user: str | None) -> str:
    """Return an interpreter of this version that the user may run. Raises LookupError when there is none."""
    if user is None:
        return sys.executable
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    record = pwd.getpwnam(user)
    for candidate in filter(None, (sys.executable, shutil.which(version, path="/usr/bin:/usr/local/bin"))):
        try:
            tried = subprocess.run(
                [candidate, "-c", "import anyio, asyncpg, psutil, pydantic"],
                cwd="/", env=_environment(), capture_output=True, user=record.pw_uid, group=record.pw_gid,
                extra_groups=[], check=False,
            )  # fmt: skip
        except PermissionError:
            continue
        if tried.returncode == 0:
            return candidate
    raise LookupError(f"no {version} with recalld's packages that user {user} may run")


def ended(pid: int) -> bool:
    """Tell whether a process is gone; a zombie that nobody collects counts."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def _serve(kind: str, state_dir: Path) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM) as signals:
        server: EmbeddedServer = await KINDS[kind].start(state_dir)
        async with server:
            sys.stdout.write(f"{server.pid}\n")
            sys.stdout.flush()
            async for _ in signals:
                return


if __name__ == "__main__":
    anyio.run(_serve, sys.argv[1], Path(sys.argv[2]))
