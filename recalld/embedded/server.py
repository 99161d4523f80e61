"""What the embedded Postgres and the embedded NATS server have in common: stop in order, and come back when killed."""

from __future__ import annotations

import logging
import signal
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import ClassVar, Literal, Self

import anyio

from recalld.embedded.process import ServerProcess
from recalld.errors import DependencyError, RecalldError

log = logging.getLogger(__name__)

_CRASHES, _WITHIN_S = 5, 60.0
_PAUSES_S = (0.0, 0.2, 1.0, 3.0, 5.0)


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """A server went down by itself, or is back after ``outage_s`` seconds; ``exit_status`` as of subprocess."""

    server: str
    state: Literal["down", "up"]
    exit_status: int | None
    outage_s: float


class EmbeddedServer(ABC):
    """A server of our own: use as an async context manager, its end stops the server."""

    name: ClassVar[str]
    stop_steps: ClassVar[Sequence[tuple[signal.Signals, float]]]

    def __init__(self) -> None:
        self._process: ServerProcess | None = None
        self._stopping = False
        self._turn = anyio.Lock()

    @property
    def pid(self) -> int:
        """The process id of the running server. Raises DependencyError when it does not run."""
        if self._process is None:
            raise DependencyError(f"the embedded {self.name} is not running")
        return self._process.pid

    @abstractmethod
    async def ping(self) -> None:
        """Ask the server something, with our credentials. Raises DependencyError when it does not answer."""

    @abstractmethod
    async def _launch(self) -> ServerProcess:
        """Start it on its data and its address; return when it answers. Raises RecalldError with the log's end."""

    async def stop(self) -> None:
        """Stop it in order, bounded; safe to call again."""
        self._stopping = True
        with anyio.CancelScope(shield=True):
            async with self._turn:
                if self._process is not None:
                    await self._process.stop(self.stop_steps)
                    self._process = None

    async def on_exit(self) -> int | None:
        """Wait until the server has ended, for whatever reason; return its exit status where that is known."""
        return await self._process.wait() if self._process is not None else None

    async def supervise(self, report: Callable[[ServerEvent], None] = lambda _: None) -> None:
        """Start the server again, on the same data and address, whenever it ends without :meth:`stop`.

        Runs until cancelled or stopped. ``report`` is told of each end and each return. Raises DependencyError when
        it crashed 5 times within a minute or cannot be started in 5 tries; the last reason is in the message.
        """
        crashes: deque[float] = deque(maxlen=_CRASHES)
        while True:
            status = await self.on_exit()
            if self._stopping:
                return
            down = time.monotonic()
            log.error("embedded %s has ended unexpectedly (exit status %s)", self.name, status)
            report(ServerEvent(self.name, "down", status, 0.0))
            crashes.append(down)
            if len(crashes) == _CRASHES and down - crashes[0] < _WITHIN_S:
                raise DependencyError(f"the embedded {self.name} crashed {_CRASHES} times within {_WITHIN_S:.0f} s")
            if not await self._revive():
                return
            outage = time.monotonic() - down
            log.warning("embedded %s is back after %.2f s (pid %d)", self.name, outage, self.pid)
            report(ServerEvent(self.name, "up", status, outage))

    async def _revive(self) -> bool:
        """Try to start it a few times; False when it was stopped meanwhile."""
        for last, pause in enumerate(_PAUSES_S, start=1 - len(_PAUSES_S)):
            await anyio.sleep(pause)
            async with self._turn:
                if self._stopping:
                    return False
                try:
                    self._process = await self._launch()
                    return True
                except RecalldError as error:
                    if last == 0:
                        raise
                    log.warning("embedded %s did not start: %s", self.name, error)
        return False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.stop()


_CAUSES = {
    "No space left on device": "free some disk space, then start again: nothing that was stored is lost",
    "Disk quota exceeded": "free some disk space, then start again: nothing that was stored is lost",
    "Read-only file system": "set node.state_dir to a place that can be written",
    "Permission denied": "let the user that it runs as into the state directory, or set node.state_dir elsewhere",
    "Cannot allocate memory": "give the machine or container more memory",
    "password authentication failed": "stop recalld and remove credentials/postgres.json: a new password is then set",
}


def failure(what: str, said: str) -> DependencyError:
    """Return the error with the server's last words and, for the usual causes, what to do."""
    hint = next((suggestion for phrase, suggestion in _CAUSES.items() if phrase in said), "")
    return DependencyError(f"{what}: {said or 'it said nothing'}", suggestion=hint)


@contextmanager
def naming_the_file(server: str) -> Iterator[None]:
    """Turn an OSError into one of ours that names the file and what to do."""
    try:
        yield
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise failure(f"the embedded {server} cannot be set up", f"{where}{error.strerror or error}") from error
