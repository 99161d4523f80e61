"""A program in a terminal of its own: what it writes is read as it comes, and keys are typed into it."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
from anyio import to_thread

PATIENCE_S = 30.0


@dataclass
class Terminal:
    """The near end of a pseudo terminal, and the program at its far end."""

    end: int
    program: subprocess.Popen[bytes]
    written: bytes = b""

    def type(self, keys: str) -> None:
        """Type keys."""
        os.write(self.end, keys.encode())

    async def until(self, holds: Callable[[bytes], bool]) -> bytes:
        """Read until what was written since the last time is as it should be; return that."""
        with anyio.move_on_after(PATIENCE_S):
            while not holds(self.written):
                await anyio.wait_readable(self.end)
                self.written += os.read(self.end, 65_536)
        assert holds(self.written), self.written[-4_000:]
        told, self.written = self.written, b""
        return told

    async def ended(self) -> int:
        """Read on until the program has ended; return its exit status."""
        with anyio.fail_after(PATIENCE_S):
            while True:
                await anyio.wait_readable(self.end)
                try:
                    self.written += os.read(self.end, 65_536)
                except OSError:  # the far end is closed
                    return await to_thread.run_sync(self.program.wait, abandon_on_cancel=True)


@asynccontextmanager
async def in_terminal(
    command: Sequence[str], environment: Mapping[str, str], size: tuple[int, int] = (120, 40)
) -> AsyncIterator[Terminal]:
    """A program with a terminal of its own; it is killed at the end where it has not ended."""
    near, far = pty.openpty()
    fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    program = subprocess.Popen(
        command,
        stdin=far,
        stdout=far,
        stderr=far,
        env={**environment, "TERM": "xterm-256color"},
        start_new_session=True,
    )
    os.close(far)
    try:
        yield Terminal(near, program)
    finally:
        program.kill()
        program.wait()
        os.close(near)
