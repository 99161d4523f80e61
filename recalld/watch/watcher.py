"""The watcher of a node: one source of hints over all its repos, and one loop a repo that compares.

The source is a hint and is treated as one: when it fails, falls silent, or was seen to miss something, a new one is
made, and every repo is scanned once it is armed. Where the kernel's events cannot be had, polling takes their place.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import anyio
from anyio import CapacityLimiter
from anyio.abc import TaskGroup, TaskStatus

from recalld.bus.wire import ReindexRequest, ScanReport
from recalld.errors import NotFoundError
from recalld.model import Repo
from recalld.settings import WatchSettings
from recalld.watch.hints import Hints
from recalld.watch.ports import Clock, ManifestSource, Observer, Publisher
from recalld.watch.repo_watch import RepoWatch
from recalld.watch.sources import Target, watch_by_polling, watch_events

log = logging.getLogger(__name__)

SILENT_S = 30.0
"""A source that has not even said that it lives for this long is replaced (seconds)."""
RESTART_S = (0.1, 1.0, 5.0, 30.0)
EVENTS_AGAIN_S = 600.0
"""How long polling stands in before the kernel's events are tried again (seconds)."""
THREADS = 4
MORE_WATCHES = "raise fs.inotify.max_user_watches (sysctl), or exclude directories in .recallignore"


@dataclass(slots=True)
class _Watched:
    watch: RepoWatch
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    ended: anyio.Event = field(default_factory=anyio.Event)


class Watcher:
    """Keeps the index equal to the directories of this node's repos."""

    def __init__(
        self,
        node: str,
        settings: WatchSettings,
        index: ManifestSource,
        publisher: Publisher,
        observer: Observer,
        *,
        is_binary: Callable[[bytes], bool],
        clock: Clock | None = None,
        jitter: Callable[[], float] = lambda: random.uniform(0.9, 1.1),
    ) -> None:
        self._node, self._settings = node, settings
        self._index, self._publisher, self._observer = index, publisher, observer
        self._is_binary, self._clock, self._jitter = is_binary, clock or Clock(), jitter
        self._limiter = CapacityLimiter(THREADS)
        self._watched: dict[str, _Watched] = {}
        self._group: TaskGroup | None = None
        self._rearm = anyio.Event()
        self._heard_at = self._clock.monotonic()
        self._failures = 0
        self._polling_until = 0.0
        self._reason = ""

    async def run(self, stop: anyio.Event, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Watch until ``stop`` is set. What was not handed over by then is found by the scan of the next start."""
        async with anyio.create_task_group() as group:
            self._group = group
            for watched in self._watched.values():
                group.start_soon(self._keep, watched)
            group.start_soon(self._keep_source)
            task_status.started()
            await stop.wait()
            group.cancel_scope.cancel()
        self._group = None

    async def add(self, repo: Repo) -> None:
        """Watch another repo from now on."""
        watch = RepoWatch(
            repo,
            self._settings,
            self._index,
            self._publisher,
            self._observer,
            self._clock,
            self._node,
            self._ask_for_source,
            self._jitter,
            self._limiter,
            self._is_binary,
        )
        watched = self._watched[repo.name] = _Watched(watch)
        if self._group is not None:
            self._group.start_soon(self._keep, watched)

    async def remove(self, name: str) -> None:
        """Stop watching a repo; returns when nothing of it will be published any more."""
        watched = self._watched.pop(name, None)
        if watched is None:
            return
        watched.scope.cancel()
        self._ask_for_source(f"{name} is no longer watched")
        if self._group is not None:
            await watched.ended.wait()

    async def scan(self, name: str, request: ReindexRequest) -> ScanReport:
        """Compare a repo now. Raises NotFoundError when it is not watched here, DependencyError when it cannot be."""
        watched = self._watched.get(name)
        if watched is None:
            raise NotFoundError(f"{name} is not watched by {self._node}", suggestion="see `recall repo list`")
        return await watched.watch.scan(request)

    def trouble(self) -> str:
        """Return what is wrong, in words; empty when nothing is."""
        own = [f"no events: {self._reason}"] if self._polls and self._reason else []
        return "; ".join([*own, *filter(None, (watched.watch.trouble for watched in self._watched.values()))])

    def summary(self) -> str:
        """Return one line on what is watched and how."""
        how = "polling" if self._polls else "watching"
        return f"{how} {len(self._watched)} repo{'s' if len(self._watched) != 1 else ''}"

    def is_alive(self) -> bool:
        """Tell whether the source has said something lately, or is not needed."""
        return not self._targets() or self._clock.monotonic() - self._heard_at < 2 * SILENT_S

    @property
    def _polls(self) -> bool:
        return self._settings.mode == "poll" or self._clock.monotonic() < self._polling_until

    async def _keep(self, watched: _Watched) -> None:
        try:
            with watched.scope:
                await watched.watch.run()
        finally:
            watched.ended.set()

    def _targets(self) -> list[Target]:
        found = (watched.watch.target() for watched in self._watched.values())
        return [target for target in found if target is not None]

    def _ask_for_source(self, reason: str) -> None:
        log.debug("new event source: %s", reason)
        self._rearm.set()

    async def _keep_source(self) -> None:
        """Keep one source over the roots that there are, whatever happens to it."""
        while True:
            self._rearm = anyio.Event()
            targets = self._targets()
            if not targets:
                await self._rearm.wait()
                continue
            try:
                await self._use_source(targets)
            except* Exception as failures:
                await self._failed(failures)

    async def _use_source(self, targets: list[Target]) -> None:
        """Run a source until another one is asked for, or this one has fallen silent."""
        self._heard_at = self._clock.monotonic()
        async with anyio.create_task_group() as group:
            if self._polls:
                source = partial(watch_by_polling, settings=self._settings, clock=self._clock, limiter=self._limiter)
                await group.start(source, targets, self._deliver)
            else:
                await group.start(partial(watch_events, settings=self._settings), targets, self._deliver)
            state = "polling" if self._polls else "watching"
            for target in targets:
                if target.name in self._watched:
                    self._watched[target.name].watch.armed(state)
            await self._until_done()
            group.cancel_scope.cancel()

    async def _until_done(self) -> None:
        polled = self._settings.mode != "poll" and self._polls
        while not self._rearm.is_set():
            with anyio.move_on_after(SILENT_S / 3):
                await self._rearm.wait()
            if self._clock.monotonic() - self._heard_at > SILENT_S:
                log.warning("the event source has been silent for %.0f s: another one takes its place", SILENT_S)
                return
            if polled and not self._polls:
                log.info("trying the kernel's events again")
                return

    def _deliver(self, hints: Mapping[str, Hints]) -> None:
        self._heard_at = self._clock.monotonic()
        self._failures = 0
        for name, found in hints.items():
            if name in self._watched:
                self._watched[name].watch.hint(found)

    async def _failed(self, failures: BaseExceptionGroup[BaseException]) -> None:
        """Decide how to go on after a source failed: again, or by polling."""
        cause: BaseException = failures
        while isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        self._reason = f"{cause or type(cause).__name__}"
        self._failures += 1
        if self._settings.mode == "auto" and not self._polls:
            self._polling_until = self._clock.monotonic() + EVENTS_AGAIN_S
            hint = f" ({MORE_WATCHES})" if "limit" in self._reason or "space" in self._reason else ""
            log.warning("the kernel's events cannot be had, polling instead: %s%s", self._reason, hint)
            return
        log.warning("the event source failed: %s", self._reason)
        await anyio.sleep(RESTART_S[min(self._failures, len(RESTART_S)) - 1])
