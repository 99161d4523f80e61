"""The composition root: the only module that knows every part.

Start: state directory, servers, schema, bus, then the roles of this node, then READY. Stop is in two stages: take no
new work and let what is in flight end (within ``bus.drain_s``), then cancel what is left and close from the top down.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Self

import anyio
from anyio.abc import TaskGroup, TaskStatus

from recalld import logs, tracing
from recalld.concurrent import fault
from recalld.configuration import check_paths, flatten, load
from recalld.errors import RecalldError
from recalld.foundation import Foundation, lay
from recalld.node import Node
from recalld.roles import ROLES, Role
from recalld.settings import Settings
from recalld.systemd import Notifier

log = logging.getLogger(__name__)

CLOSE_S = 3.0
"""What a stop may take beyond ``bus.drain_s`` before the roles are cancelled (seconds)."""
START_ORDER = ("index", "serve", "watch", "schedule")
"""Whoever is asked starts before who asks; a stop goes the other way."""
RELOADABLE = ("node.log_level", "node.log_format", "recall", "repos")

Load = Callable[[], Settings]


def main(config: Path | None = None, flags: Mapping[str, Any] | None = None) -> int:
    """Run a daemon until it is told to stop; return its exit status.

    ``config`` and ``flags`` as for :func:`recalld.configuration.load`. Raises RecalldError for whatever keeps it from
    starting or going on: a setting, the state directory, the schema, a server.
    """

    def read() -> Settings:
        settings, _ = load(config, flags)
        check_paths(settings)
        return settings

    settings = read()
    logs.configure(settings.node.log_level, settings.node.log_format)
    end_tracing = tracing.configure(settings.tracing, settings.node)
    try:
        anyio.run(partial(run, settings, read, Notifier.of_environment()))
    except BaseExceptionGroup as group:
        raise fault(group) from group
    finally:
        end_tracing()
    return 0


async def run(settings: Settings, read: Load, notifier: Notifier) -> None:
    """Start everything, serve until a signal, stop everything."""
    stop = anyio.Event()
    async with anyio.create_task_group() as outer:
        daemon = Daemon(settings, read, notifier)
        await outer.start(_signals, stop, daemon, outer)
        async with lay(settings, notifier.status) as foundation:
            await daemon.serve(foundation, stop)
        outer.cancel_scope.cancel()


async def _signals(stop: anyio.Event, daemon: Daemon, outer: TaskGroup, *, task_status: TaskStatus[None]) -> None:
    """SIGTERM and SIGINT stop in order, a second one at once; SIGHUP reloads."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as received:
        task_status.started()
        async for number in received:
            if number == signal.SIGHUP:
                daemon.reload()
            elif stop.is_set():
                log.warning("told to stop a second time: stopping at once")
                outer.cancel_scope.cancel()
            else:
                log.info("stopping (%s)", signal.Signals(number).name)
                stop.set()


class Daemon:
    """The roles of this process over one foundation."""

    def __init__(self, settings: Settings, read: Load, notifier: Notifier) -> None:
        self._settings = settings
        self._read = read
        self._notifier = notifier
        self._node: Node | None = None
        self._running: Mapping[str, Running] = {}

    async def serve(self, foundation: Foundation, stop: anyio.Event) -> None:
        """Start the roles, say READY, and stop them in order once ``stop`` is set."""
        node = self._node = Node(self._settings, foundation)
        async with anyio.create_task_group() as background:
            background.start_soon(foundation.supervise)
            background.start_soon(node.load_model)
            async with anyio.create_task_group() as group:
                running: dict[str, Running] = {}
                try:
                    for name in START_ORDER:
                        if name in self._settings.node.roles:
                            self._notifier.status(f"starting: {name}")
                            running[name] = await Running.start(ROLES[name](node), group)
                    self._running = running
                    background.start_soon(self._beat, node)
                    self._notifier.ready()
                    log.info("ready: %s (%s)", self._settings.node.name, ", ".join(self._settings.node.roles))
                    await stop.wait()
                finally:
                    with anyio.CancelScope(shield=True):
                        await self._stop(running)
                group.cancel_scope.cancel()
            background.cancel_scope.cancel()
        await node.aclose()

    async def _stop(self, running: Mapping[str, Running]) -> None:
        self._notifier.stopping()
        with anyio.move_on_after(self._settings.bus.drain_s + CLOSE_S) as patience:
            for name in reversed(START_ORDER):
                if name in running:
                    await running[name].end()
        if patience.cancelled_caught:
            log.warning("not all work in flight ended in time; what is unfinished is done again after the next start")

    async def _beat(self, node: Node) -> None:
        """Tell the service manager that the daemon is alive and how it fares, while its parts make progress."""
        while True:
            self._notifier.status(node.summary())
            if node.is_alive():
                self._notifier.watchdog()
            await anyio.sleep(self._notifier.interval_s)

    def reload(self) -> None:
        """Take up what can change in a running daemon from the settings' sources; say what needs a restart."""
        try:
            fresh = self._read()
        except RecalldError as error:
            log.error("settings not reloaded: %s. %s", error.message, error.suggestion)
            return
        self._notifier.reloading()
        changed = changes(self._settings, fresh)
        kept = [key for key in changed if not key.startswith(RELOADABLE)]
        if kept:
            log.warning("these settings need a restart: %s", ", ".join(kept))
        logs.configure(fresh.node.log_level, fresh.node.log_format)
        if self._node is not None:
            self._node.reload(fresh)
        for running in self._running.values():
            running.role.reload()
        log.info("settings reloaded: %s", ", ".join(key for key in changed if key not in kept) or "nothing changed")
        self._notifier.ready()


class Running:
    """A role that was started."""

    def __init__(self, role: Role) -> None:
        self.role = role
        self._stop = anyio.Event()
        self._ended = anyio.Event()

    @classmethod
    async def start(cls, role: Role, group: TaskGroup) -> Self:
        """Run a role in a task group; return once it has started."""
        running = cls(role)
        await group.start(running._run)
        return running

    async def _run(self, *, task_status: TaskStatus[None]) -> None:
        try:
            await self.role.run(self._stop, task_status=task_status)
        finally:
            self._ended.set()

    async def end(self) -> None:
        """Have the role take no new work, and wait until it is done."""
        self._stop.set()
        await self._ended.wait()


def changes(before: Settings, after: Settings) -> list[str]:
    """Return the dotted keys of the settings that differ."""
    old = dict(flatten(before))
    return [key for key, value in flatten(after) if old[key] != value]
