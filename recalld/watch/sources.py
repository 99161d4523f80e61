"""Where hints come from: the kernel, through watchfiles' backend, or polling.

Both are hints only, and both say so when they may have missed something. One native watcher covers all roots, so it
takes one thread and one inotify instance. On Linux each directory of a memory is watched by itself rather than its root
recursively: that follows no link out of the repo, spends nothing on ignored trees, and a full watch table is an error
instead of silence. Polling is our own walk rather than the backend's: that one compares times by the second, and enters
ignored trees.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import anyio
from anyio import CapacityLimiter, create_task_group, to_thread
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
BY_DIRECTORY = sys.platform == "linux"
"""Elsewhere the kernel watches whole trees, and cheaply."""
_ARM_ATTEMPTS = 5
_GIT_DIRECTORIES = (".git", ".git/info")
_GIT_HINTS = frozenset({"HEAD", "HEAD.lock", "index", "index.lock", "packed-refs", "logs/HEAD"})


@dataclass(frozen=True, slots=True)
class Target:
    """A repo as sources see it: its root and the directories to be watched ("" is the root).

    ``rules`` gives the rules in force, ``fresh_rules`` ones that read the disk anew.
    """

    name: str
    root: Root
    directories: Collection[str]
    rules: Callable[[], Rules]
    fresh_rules: Callable[[], Rules]


Armed: TypeAlias = Mapping[str, Collection[str]] | None
"""Which directories are being watched, by repo; None is all of them, those that are still to come included."""
Deliver: TypeAlias = Callable[[Mapping[str, Hints]], None]
"""Takes hints by repo; an empty mapping is a sign of life."""


class Source(Protocol):
    """Watches until cancelled, or raises. Once it has called ``armed``, nothing from then on is overlooked."""

    def __call__(
        self, targets: Sequence[Target], armed: Callable[[Armed], None], deliver: Deliver
    ) -> Awaitable[None]: ...


@dataclass(frozen=True, slots=True)
class EventSource:
    """Watches by inotify, FSEvents or kqueue. Raises what the backend raises, in an ExceptionGroup."""

    settings: WatchSettings

    async def __call__(self, targets: Sequence[Target], armed: Callable[[Armed], None], deliver: Deliver) -> None:
        """Implement :class:`Source`."""
        stop = threading.Event()
        limiter = CapacityLimiter(1)
        async with create_task_group() as group:
            group.start_soon(_when_cancelled, stop.set)
            notify, directories = await to_thread.run_sync(_arm, targets, limiter=limiter, abandon_on_cancel=True)
            watched = {target.root.full(path) for target in targets for path in directories[target.name]}
            try:
                armed(directories if BY_DIRECTORY else None)
                while True:
                    deliver(await to_thread.run_sync(self._turn, notify, stop, targets, watched, limiter=limiter))
            finally:
                notify.close()

    def _turn(
        self, notify: RustNotify, stop: threading.Event, targets: Sequence[Target], watched: Collection[str]
    ) -> dict[str, Hints]:
        raw = notify.watch(self.settings.debounce_ms, self.settings.step_ms, BEAT_MS, stop)
        return {} if isinstance(raw, str) else sort_out(targets, watched, {path for _, path in raw})


async def _when_cancelled(act: Callable[[], None]) -> None:
    """Act at once when the scope is cancelled, while a thread that knows nothing of scopes is still at work."""
    try:
        await anyio.sleep_forever()
    finally:
        act()


def _arm(targets: Sequence[Target]) -> tuple[RustNotify, dict[str, list[str]]]:
    """Watch what there is; directories come and go meanwhile, and one that is not there is refused."""
    attempt = 0
    while True:
        attempt += 1
        directories = {target.name: list(_watchable(target)) for target in targets}
        places = [target.root.full(path) for target in targets for path in directories[target.name]]
        try:
            # "ignore permission denied" would ignore a full watch table, too.
            return RustNotify(places, False, False, 0, not BY_DIRECTORY, False), directories
        except (FileNotFoundError, PermissionError):
            if attempt == _ARM_ATTEMPTS:
                raise


def _watchable(target: Target) -> list[str]:
    wanted = (*target.directories, *_GIT_DIRECTORIES) if BY_DIRECTORY else ("",)
    return [path for path in wanted if _is_readable_directory(target.root.full(path))]


def _is_readable_directory(full: str) -> bool:
    return os.path.isdir(full) and os.access(full, os.R_OK)


def sort_out(targets: Sequence[Target], watched: Collection[str], paths: Collection[str]) -> dict[str, Hints]:
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
                    if full in watched:
                        found[target.name].stale.add(relative)
    return {name: hints for name, hints in found.items() if hints}


def _sort_path(target: Target, path: str, hints: Hints) -> None:
    directory, _, name = path.rpartition("/")
    if not path:
        hints.stale.add(path)
    elif path == ".git" or path.startswith(".git/"):
        inner = path[5:]
        hints.git |= not inner or inner in _GIT_HINTS or inner.startswith("refs/heads/")
        hints.rules |= inner == "info/exclude"
    elif name in RULE_FILES:
        hints.rules |= not (directory and target.rules().ignores(directory, is_dir=True))
    elif not (target.rules().ignores(path, is_dir=True) and target.rules().ignores(path)):
        hints.paths.add(path)


@dataclass(frozen=True, slots=True)
class _Polled:
    files: Mapping[str, FileStat]
    problems: Set[tuple[str, str]]
    rule_files: Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class PollingSource:
    """Walks every root again and again and hints at what differs from the time before."""

    settings: WatchSettings
    clock: Clock

    async def __call__(self, targets: Sequence[Target], armed: Callable[[Armed], None], deliver: Deliver) -> None:
        """Implement :class:`Source`."""
        # A walk notes in its root which links it followed: that is not to meddle with the scans' notes.
        targets = [replace(target, root=replace(target.root, followed={}, mounts=set())) for target in targets]
        before = {target.name: await self._poll(target, deliver) for target in targets}
        armed(None)
        rest = self.settings.poll_interval_s
        while True:
            await _rest(rest, deliver)
            began = self.clock.monotonic()
            for target in targets:
                now = await self._poll(target, deliver)
                hints = _difference(before[target.name], now)
                before[target.name] = now
                deliver({target.name: hints} if hints else {})
            rest = max(self.settings.poll_interval_s, POLL_SHARE * (self.clock.monotonic() - began))

    async def _poll(self, target: Target, deliver: Deliver) -> _Polled | None:
        rules = target.fresh_rules()
        try:
            walk = await scan(target.root, rules, now_ns=self.clock.time_ns, beat=lambda: deliver({}))
        except RootGoneError:
            return None
        problems = {(problem.path, problem.code) for problem in walk.problems}
        return _Polled(walk.files, problems, dict(rules.sources))


async def _rest(seconds: float, deliver: Deliver) -> None:
    while seconds > 0:
        nap = min(seconds, BEAT_MS / 1000)
        await anyio.sleep(nap)
        seconds -= nap
        deliver({})


def _difference(before: _Polled | None, now: _Polled | None) -> Hints:
    if before is None or now is None:
        return Hints(stale=set() if before is now else {""})
    changed = {path for path, _ in before.files.items() ^ now.files.items()}
    changed |= {path for path, _ in before.problems ^ now.problems}
    return Hints(paths=changed, rules=before.rule_files != now.rule_files)
