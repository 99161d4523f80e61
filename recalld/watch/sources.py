"""Where hints come from: the kernel, through watchfiles' backend, or polling.

Both are hints only, and both say so when they may have missed something. One native watcher covers all roots, so it
takes one thread and one inotify instance. Polling is our own walk rather than the backend's: that one compares times
by the second, and enters ignored trees.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import anyio
from anyio import CapacityLimiter, create_task_group, to_thread
from anyio.abc import TaskStatus
from watchfiles._rust_notify import RustNotify  # documented under "Rust backend"; awatch would arm on the event loop

from recalld.model import FileStat
from recalld.settings import WatchSettings
from recalld.watch.disk import Root, RootGoneError
from recalld.watch.hints import Hints
from recalld.watch.ignore import RULE_FILES, Rules
from recalld.watch.ports import Clock
from recalld.watch.scan import scan

BEAT_MS = 500
"""A source says that it lives at least this often."""
FLOOD = 4_096
"""A batch of this many raw events may have overflowed the kernel's queue of 16,384."""
POLL_SHARE = 10
"""Polling rests this many times as long as it worked."""
_GIT_HINTS = frozenset({"HEAD", "index", "index.lock", "packed-refs", "logs/HEAD"})


@dataclass(frozen=True, slots=True)
class Target:
    """A repo as sources see it. ``rules`` gives the rules in force, ``fresh_rules`` ones that read the disk anew."""

    name: str
    root: Root
    rules: Callable[[], Rules]
    fresh_rules: Callable[[], Rules]


Deliver = Callable[[Mapping[str, Hints]], None]
"""Takes hints by repo; an empty mapping is a sign of life."""


class Source(Protocol):
    """Watches until cancelled, or raises. ``task_status.started()`` means that nothing from then on is overlooked."""

    def __call__(
        self, targets: Sequence[Target], deliver: Deliver, *, task_status: TaskStatus[None]
    ) -> Awaitable[None]: ...


async def watch_events(
    targets: Sequence[Target], deliver: Deliver, *, settings: WatchSettings, task_status: TaskStatus[None]
) -> None:
    """Watch by inotify, FSEvents or kqueue. Raises what the backend raises, in an ExceptionGroup."""
    stop = threading.Event()
    limiter = CapacityLimiter(1)
    paths = [target.root.real for target in targets]
    async with create_task_group() as group:
        group.start_soon(_when_cancelled, stop.set)
        notify = await to_thread.run_sync(partial(RustNotify, paths, False, False, 0, True, True), limiter=limiter)
        try:
            task_status.started()
            while True:
                turn = partial(_turn, notify, settings, stop, targets)
                deliver(await to_thread.run_sync(turn, limiter=limiter))
        finally:
            notify.close()


async def _when_cancelled(act: Callable[[], None]) -> None:
    """Act at once when the scope is cancelled, while a thread that knows nothing of scopes is still at work."""
    try:
        await anyio.sleep_forever()
    finally:
        act()


def _turn(
    notify: RustNotify, settings: WatchSettings, stop: threading.Event, targets: Sequence[Target]
) -> dict[str, Hints]:
    raw = notify.watch(settings.debounce_ms, settings.step_ms, BEAT_MS, stop)
    return {} if isinstance(raw, str) else sort_out(targets, {path for _, path in raw})


def sort_out(targets: Sequence[Target], paths: set[str]) -> dict[str, Hints]:
    """Turn absolute paths into hints, by repo and without what the rules keep out.

    A directory that links lead to is reported under whichever name was watched last, so each path is also resolved.
    """
    found = {target.name: Hints(lost=len(paths) >= FLOOD) for target in targets}
    directories: dict[str, str] = {}
    for path in paths:
        directory, _, name = path.rpartition("/")
        real = directories.get(directory)
        if real is None:
            real = directories[directory] = os.path.realpath(directory)
        for full in {path, f"{real}/{name}"}:
            for target in targets:
                relative = target.root.relative(full)
                if relative is not None:
                    _sort_path(target, relative, found[target.name])
    return {name: hints for name, hints in found.items() if hints}


def _sort_path(target: Target, path: str, hints: Hints) -> None:
    if not path:
        hints.root = True
    elif path == ".git" or path.startswith(".git/"):
        inner = path[5:]
        hints.git |= inner in _GIT_HINTS or inner.startswith("refs/heads/")
        hints.rules |= inner == "info/exclude"
    elif path.rpartition("/")[2] in RULE_FILES:
        hints.rules |= not target.rules().ignores(path.rpartition("/")[0], is_dir=True) if "/" in path else True
    elif not (target.rules().ignores(path, is_dir=True) and target.rules().ignores(path)):
        hints.paths.add(path)


@dataclass(frozen=True, slots=True)
class _Polled:
    files: Mapping[str, FileStat]
    rule_files: Mapping[str, tuple[int, int]]


async def watch_by_polling(
    targets: Sequence[Target],
    deliver: Deliver,
    *,
    settings: WatchSettings,
    clock: Clock,
    limiter: CapacityLimiter,
    task_status: TaskStatus[None],
) -> None:
    """Walk every root again and again and hint at what differs from the time before."""
    before: dict[str, _Polled | None] = {}
    for target in targets:
        before[target.name] = await _poll(target, clock, limiter)
    task_status.started()
    rest = settings.poll_interval_s
    while True:
        await _rest(rest, deliver)
        began = clock.monotonic()
        for target in targets:
            now = await _poll(target, clock, limiter)
            hints = _difference(before[target.name], now)
            before[target.name] = now
            deliver({target.name: hints} if hints else {})
        rest = max(settings.poll_interval_s, POLL_SHARE * (clock.monotonic() - began))


async def _rest(seconds: float, deliver: Deliver) -> None:
    while seconds > 0:
        nap = min(seconds, BEAT_MS / 1000)
        await anyio.sleep(nap)
        seconds -= nap
        deliver({})


async def _poll(target: Target, clock: Clock, limiter: CapacityLimiter) -> _Polled | None:
    rules = target.fresh_rules()
    try:
        walk = await scan(target.root, rules, now_ns=clock.time_ns, limiter=limiter)
    except RootGoneError:
        return None
    return _Polled(walk.files, dict(rules.sources))


def _difference(before: _Polled | None, now: _Polled | None) -> Hints:
    if before is None or now is None:
        return Hints(root=before is not now)
    return Hints(
        paths={path for path, _ in before.files.items() ^ now.files.items()},
        rules=before.rule_files != now.rule_files,
    )
