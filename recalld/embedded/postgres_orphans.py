"""What an earlier daemon may have left: a running postmaster, backends without one, a lock file of a dead process."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import anyio.to_thread
import psutil

log = logging.getLogger(__name__)

_LOCK_FILE = "postmaster.pid"
_STATUS_LINE = 7


def _lines(data: Path) -> list[str]:
    try:
        return (data / _LOCK_FILE).read_text().splitlines()
    except FileNotFoundError:
        return []


def _pid(data: Path) -> int | None:
    lines = _lines(data)
    return int(lines[0]) if lines and lines[0].strip().isdigit() else None


def is_ready(data: Path, pid: int | None = None) -> bool:
    """Tell whether the lock file says that the server (with that pid, where given) takes connections."""
    lines = _lines(data)
    if len(lines) <= _STATUS_LINE or (pid is not None and lines[0].strip() != str(pid)):
        return False
    return lines[_STATUS_LINE].strip() == "ready"


def find_postmaster(data: Path) -> psutil.Process | None:
    """Return the running server of this data directory, judged by what the process is, not by its pid alone."""
    pid = _pid(data)
    if pid is None:
        return None
    try:
        process = psutil.Process(pid)
        return process if _works_in(process, data) else None
    except psutil.NoSuchProcess:
        return None


def _works_in(process: psutil.Process, data: Path) -> bool:
    """Every process of a Postgres server is named postgres and has the data directory as its working directory."""
    try:
        return process.name() == "postgres" and os.path.samefile(process.cwd(), data)
    except (psutil.AccessDenied, psutil.ZombieProcess, FileNotFoundError, PermissionError):
        return False


async def remove_leftovers(data: Path) -> None:
    """Make way for a new server: end backends whose postmaster was killed, drop a lock file that names a stranger.

    Only to be called when :func:`find_postmaster` found none, or the one found was stopped. Raises OSError.
    """
    if _lines(data):
        await anyio.to_thread.run_sync(_remove_leftovers, data)


def _remove_leftovers(data: Path) -> None:
    left = []
    for process in psutil.process_iter():
        try:
            if _works_in(process, data):
                left.append(process)
        except psutil.NoSuchProcess:
            continue
    for process in left:
        log.warning("ending a Postgres process without a server (pid %d)", process.pid)
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(left, timeout=5)
    log.info("dropping the lock file %s of a server that is gone", data / _LOCK_FILE)
    (data / _LOCK_FILE).unlink(missing_ok=True)
