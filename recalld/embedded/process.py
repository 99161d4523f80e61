"""One server process: started as a child, or found as an orphan of a daemon that was killed.

Both kinds are watched through a pidfd where the kernel has them (polled elsewhere), and signalled through psutil, which
checks the start time, so a reused pid is never hit.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import anyio
import psutil

_POLL_S = 0.1
_WITHOUT_PIDFD = not hasattr(os, "pidfd_open")


@dataclass(frozen=True, slots=True)
class Account:
    """The operating system's user that a server runs as."""

    name: str
    uid: int
    gid: int


class ServerProcess:
    """A running server; it outlives this object unless :meth:`stop` is called."""

    def __init__(self, process: psutil.Process, child: subprocess.Popen[bytes] | None) -> None:
        self._process = process
        self._child = child

    @classmethod
    def spawn(
        cls, command: Sequence[str], *, log: Path, cwd: Path, env: Mapping[str, str], account: Account | None = None
    ) -> Self:
        """Start a server in a session of its own (so a Ctrl-C is not for it) with its output appended to ``log``.

        Raises OSError when it cannot be started.
        """
        output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=cwd,
                env=dict(env),
                start_new_session=True,
                umask=0o077,
                user=account.uid if account else None,
                group=account.gid if account else None,
                extra_groups=[] if account else None,
            )
        finally:
            os.close(output)
        return cls(psutil.Process(child.pid), child)

    @classmethod
    def adopt(cls, process: psutil.Process) -> Self:
        """Take over a server that somebody else started."""
        return cls(process, None)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        """As of subprocess: negative for a signal; None while running, or when it was never our child."""
        return self._child.poll() if self._child else None

    def runs(self, program: Path) -> bool:
        """Tell whether it runs this very program file; False when that cannot be seen, or it was replaced since."""
        try:
            return os.path.samefile(self._process.exe(), program)
        except (psutil.Error, OSError):
            return False

    def alive(self) -> bool:
        """Tell whether it still runs; a zombie does not."""
        if self._child is not None and self._child.poll() is not None:
            return False
        try:
            return self._process.is_running() and self._process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    async def wait(self) -> int | None:
        """Wait until it has ended, and return :attr:`exit_status`."""
        if _WITHOUT_PIDFD or not await self._wait_for_pidfd():
            while self.alive():  # noqa: ASYNC110 - somebody else's process: there is nothing that could set an event
                await anyio.sleep(_POLL_S)
        if self._child is not None:
            self._child.wait()
        return self.exit_status

    async def _wait_for_pidfd(self) -> bool:
        if not self.alive():
            return True
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return True
        except OSError:
            return False
        try:
            if self.alive():  # the pid was still ours when the handle was taken
                await anyio.wait_readable(handle)
        finally:
            os.close(handle)
        return True

    async def stop(self, steps: Sequence[tuple[signal.Signals, float]]) -> int | None:
        """End it: send each signal and give it that many seconds; after the last, SIGKILL to it and its children.

        Never cancelled half way: it is shielded, and bounded by the steps plus five seconds.
        """
        with anyio.CancelScope(shield=True):
            for number, patience in steps:
                if not self._send(number):
                    return await self.wait()
                with anyio.move_on_after(patience):
                    return await self.wait()
            for process in self._family():
                _kill(process)
            with anyio.move_on_after(5):
                return await self.wait()
        return None

    def _family(self) -> list[psutil.Process]:
        try:
            return [self._process, *self._process.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def _send(self, number: signal.Signals) -> bool:
        try:
            self._process.send_signal(number)
        except psutil.NoSuchProcess:
            return False
        return True


def _kill(process: psutil.Process) -> None:
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return


def tail(log: Path, lines: int = 12) -> str:
    """Return the end of a server's log, for an error message; empty when there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 8_192))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


def rotate(log: Path, limit: int = 4 << 20) -> None:
    """Keep one older log once it is over ``limit`` bytes. Called before a start, when nobody writes. Raises OSError."""
    if log.exists() and log.stat().st_size > limit:
        log.replace(log.with_name(f"{log.name}.1"))
