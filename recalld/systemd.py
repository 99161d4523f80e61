"""What recalld tells the service manager: that it is ready, how it fares, that it is alive (sd_notify(3)).

Without ``NOTIFY_SOCKET``, so outside of systemd, every call does nothing.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

import sdnotify  # type: ignore[import-untyped]

log = logging.getLogger(__name__)

SEND_S = 0.5
"""How long a message may wait for a manager whose socket is full, before it is given up (seconds)."""
UNWATCHED_INTERVAL_S = 10.0


@dataclass(frozen=True, slots=True)
class Notifier:
    """Speaks to the service manager of this process. Messages that cannot be sent are dropped: they are no duty.

    ``interval_s`` is how often to call :meth:`watchdog` and :meth:`status`: half of what the manager tolerates.
    """

    _connection: sdnotify.SystemdNotifier | None
    interval_s: float = UNWATCHED_INTERVAL_S
    _monotonic_ns: Callable[[], int] = time.monotonic_ns

    @classmethod
    def of_environment(cls) -> Self:
        """Return the notifier that ``NOTIFY_SOCKET``, ``WATCHDOG_USEC`` and ``WATCHDOG_PID`` describe."""
        return cls(_connect(os.environ.get("NOTIFY_SOCKET")), _interval(os.environ, os.getpid()))

    def ready(self) -> None:
        """Say that start, or reload, is complete."""
        self._send("READY=1")

    def status(self, text: str) -> None:
        """Say in one line how things stand; ``systemctl status`` shows it."""
        self._send(f"STATUS={' '.join(text.split())}")

    def reloading(self) -> None:
        """Say that settings are being read again; :meth:`ready` ends that."""
        self._send(f"RELOADING=1\nMONOTONIC_USEC={self._monotonic_ns() // 1_000}")

    def stopping(self) -> None:
        """Say that the daemon is on its way down."""
        self._send("STOPPING=1")

    def watchdog(self) -> None:
        """Say that the daemon is alive."""
        self._send("WATCHDOG=1")

    def extend(self, seconds: float) -> None:
        """Ask for that much more time to start or stop, counted from now."""
        self._send(f"EXTEND_TIMEOUT_USEC={round(seconds * 1e6)}")

    def close(self) -> None:
        """Hang up; nothing is said any more."""
        if self._connection is not None:
            self._connection.socket.close()

    def _send(self, message: str) -> None:
        if self._connection is not None:
            # The library encodes as Latin-1 and drops what does not fit, while systemd expects UTF-8.
            self._connection.notify(message.encode("utf-8", "replace").decode("latin-1"))


def _connect(address: str | None) -> sdnotify.SystemdNotifier | None:
    if not address:
        return None
    try:
        connection = sdnotify.SystemdNotifier(debug=True)
    except OSError as error:
        log.warning("NOTIFY_SOCKET %s does not answer, so the service manager hears nothing: %s", address, error)
        return None
    connection.socket.settimeout(SEND_S)
    connection.debug = False
    return connection


def _interval(environment: Mapping[str, str], pid: int) -> float:
    """Return half of the watchdog's patience; the usual interval where it watches nothing, or another process."""
    usec = environment.get("WATCHDOG_USEC", "")
    watched = environment.get("WATCHDOG_PID", "") in ("", str(pid))
    if not usec.isdigit() or int(usec) == 0 or not watched:
        return UNWATCHED_INTERVAL_S
    return int(usec) / 2e6
