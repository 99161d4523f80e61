"""Keeps one source of hints over all roots, whatever happens to it.

The next source is armed before the last one goes, so that a new directory or repo costs the others nothing. A source
that fails or falls silent is replaced, and where the kernel's events cannot be had, polling stands in for them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import anyio
from anyio import CancelScope
from anyio.abc import TaskGroup, TaskStatus

from recalld.concurrent import fault
from recalld.settings import WatchSettings
from recalld.watch.hints import Hints
from recalld.watch.ports import Clock
from recalld.watch.sources import Armed, Source, Target

log = logging.getLogger(__name__)

CHECK_S = 5.0
"""How often the running source is looked after (seconds)."""
SILENT_S = 30.0
"""A source that has not even said that it lives for this long is replaced (seconds)."""
ARM_S = 60.0
"""Arming that takes longer has failed (seconds)."""
REARM_S = 0.2
"""Sources follow each other at this distance at least (seconds)."""
STEADY_S = 60.0
"""A source that lived this long is no longer held to be failing (seconds)."""
RESTART_S = (0.1, 1.0, 5.0, 30.0)
"""How long to wait before a source that failed is replaced, each time longer (seconds)."""
RESTARTS = 2
"""Polling stands in after so many failures shortly after each other."""
EVENTS_AGAIN_S = 600.0
"""How long it stands in where the kernel has no watches left (seconds); after other failures it is ``STEADY_S``."""
MORE_WATCHES = "raise fs.inotify.max_user_watches and max_user_instances (sysctl)"


class Watched(Protocol):
    """What the keeper keeps a source for."""

    def targets(self) -> Sequence[Target]:
        """Return the repos that have a root."""
        ...

    def deliver(self, hints: Mapping[str, Hints]) -> None:
        """Take hints by repo."""
        ...

    def armed(self, targets: Sequence[Target], directories: Armed, how: str, gapless: bool) -> None:
        """Be told that ``targets`` are being watched from now on.

        ``how`` is watching or polling; ``gapless`` says that what was watched before has been watched all the time.
        """
        ...


@dataclass(slots=True)
class _Running:
    polls: bool
    since: float
    heard_at: float
    scope: CancelScope = field(default_factory=CancelScope)
    is_armed: bool = False
    has_ended: bool = False


class Keeper:
    """One source, kept. ``events`` and ``polling`` are the two that there are."""

    def __init__(
        self, settings: WatchSettings, clock: Clock, watched: Watched, *, events: Source, polling: Source
    ) -> None:
        self._mode, self._clock, self._watched = settings.mode, clock, watched
        self._retire_s = (settings.debounce_ms + 2 * settings.step_ms) / 1e3
        self._events, self._polling = events, polling
        self._asked = anyio.Event()
        self._running: _Running | None = None
        self._failures = 0
        self._reason = ""
        self._polling_until = 0.0
        self._turned_at = clock.monotonic()

    @property
    def polls(self) -> bool:
        """Tell whether polling is in force, by the settings or because there are no events."""
        return self._mode == "poll" or self._clock.monotonic() < self._polling_until

    @property
    def trouble(self) -> str:
        """What keeps the kernel's events away, empty when nothing does."""
        return self._reason

    @property
    def is_alive(self) -> bool:
        """Tell whether the keeper still looks after its source."""
        return self._clock.monotonic() - self._turned_at < ARM_S + SILENT_S

    def ask(self, reason: str) -> None:
        """Have a new source armed: roots or directories have changed, or changes were seen that no event told of."""
        log.debug("a new event source is wanted: %s", reason)
        self._asked.set()

    async def run(self) -> None:
        """Keep a source until cancelled."""
        async with anyio.create_task_group() as group:
            while True:
                await self._until_needed()
                self._asked = anyio.Event()
                targets = self._watched.targets()
                if targets:
                    await self._replace(targets, group)
                else:
                    self._end()

    async def _until_needed(self) -> None:
        """Wait until a new source is asked for, or the one that runs is silent or only stood in."""
        while not self._asked.is_set():
            self._turned_at = self._clock.monotonic()
            with anyio.move_on_after(CHECK_S):
                await self._asked.wait()
            running = self._running
            if running is None:
                continue
            if self._clock.monotonic() - running.heard_at > SILENT_S:
                log.warning("the event source has been silent for %.0f s: another one takes its place", SILENT_S)
                self._end()
                return
            if running.polls and not self.polls:
                log.info("trying the kernel's events again")
                return

    async def _replace(self, targets: Sequence[Target], group: TaskGroup) -> None:
        """Arm a source, then let go of the last one; one that cannot be armed beside it is armed after it."""
        self._turned_at = now = self._clock.monotonic()
        running, last = _Running(self.polls, now, now), self._running
        try:
            with anyio.fail_after(None if running.polls else ARM_S):
                directories = await group.start(self._run, running, targets)
        except Exception as error:
            if last is None or last.has_ended:
                await self._failed(fault(error), running.polls)
            self._end()
            self._asked.set()
            return
        gapless = last is not None and not last.has_ended and last.polls == running.polls
        if last is not None:
            group.start_soon(self._retire, last)
        self._running = running
        how = "polling" if running.polls else "watching"
        log.debug("%s %d repos", how, len(targets))
        self._watched.armed(targets, directories, how, gapless)
        if not self.polls and self._failures == 0:
            self._reason = ""
        await anyio.sleep(REARM_S)

    async def _retire(self, running: _Running) -> None:
        """Let a source deliver what it has collected, from before the next one was armed; then end it."""
        await anyio.sleep(self._retire_s)
        running.scope.cancel()

    def _end(self) -> None:
        if self._running is not None:
            self._running.scope.cancel()
            self._running = None

    async def _run(self, running: _Running, targets: Sequence[Target], *, task_status: TaskStatus[Armed]) -> None:
        def armed(directories: Armed) -> None:
            running.is_armed = True
            task_status.started(directories)

        source = self._polling if running.polls else self._events
        try:
            with running.scope:
                await source(targets, armed, partial(self._hear, running))
        except Exception as error:
            if not running.is_armed:
                raise
            running.has_ended = True
            if running is self._running:
                await self._failed(fault(error), running.polls)
                self._asked.set()
            else:
                self._watched.deliver({target.name: Hints(lost=True) for target in targets})

    def _hear(self, running: _Running, hints: Mapping[str, Hints]) -> None:
        now = running.heard_at = self._turned_at = self._clock.monotonic()
        if now - running.since > STEADY_S and self._failures:
            self._failures = 0
            if not running.polls:
                self._reason = ""
        if hints:
            self._watched.deliver(hints)

    async def _failed(self, cause: BaseException, polls: bool) -> None:
        """Decide how to go on after a failure: again after a pause, or by polling."""
        self._failures += 1
        is_new, self._reason = str(cause) != self._reason, str(cause) or type(cause).__name__
        hint = f" ({MORE_WATCHES})" if _lacks_resources(cause) else ""
        if self._mode == "auto" and not polls and (hint or self._failures > RESTARTS):
            self._polling_until = self._clock.monotonic() + (EVENTS_AGAIN_S if hint else STEADY_S)
            self._failures = 0
            log.log(logging.WARNING if is_new else logging.INFO, "no events, polling instead: %s%s", self._reason, hint)
            return
        log.log(logging.WARNING if is_new else logging.INFO, "the event source failed: %s%s", self._reason, hint)
        await anyio.sleep(RESTART_S[min(self._failures, len(RESTART_S)) - 1])


def _lacks_resources(cause: BaseException) -> bool:
    """Tell a full watch table, or too many open files, from a directory that is not there."""
    if isinstance(cause, (FileNotFoundError, PermissionError, NotADirectoryError, TimeoutError)):
        return False
    return isinstance(cause, OSError) or "os error 24" in str(cause)
