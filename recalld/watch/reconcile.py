"""Disk against index: of a few paths, of a directory, or of the whole repo, with deletions last and guarded."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from anyio import CapacityLimiter, create_task_group, to_thread

from recalld.bus.wire import ErrorBody, ScanReport
from recalld.model import ManifestEntry, Repo
from recalld.settings import WatchSettings
from recalld.watch.apply import Applier, Outcome, Tally, Work
from recalld.watch.beliefs import Beliefs
from recalld.watch.compare import RACY_NS, is_document, prunes_too_much
from recalld.watch.disk import Identity, Problem, Root, printable
from recalld.watch.hints import is_below, topmost
from recalld.watch.ignore import Rules
from recalld.watch.plan import Plan, make_plan
from recalld.watch.ports import Clock, ManifestSource
from recalld.watch.reports import Reporter
from recalld.watch.scan import Walk, scan

_ENTRIES = 200
"""Paths asked about in one request."""
A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class Scanned:
    """What a scan did. ``missed`` are changes made well before the scan began, which an event should have announced."""

    report: ScanReport
    tally: Tally
    missed: tuple[str, ...] = ()


class Reconciler:
    """Compares one repo. Scans exclude each other by their caller; checks of single paths may run beside them."""

    def __init__(
        self,
        repo: Repo,
        root: Root,
        index: ManifestSource,
        applier: Applier,
        beliefs: Beliefs,
        reporter: Reporter,
        settings: WatchSettings,
        clock: Clock,
        limiter: CapacityLimiter,
    ) -> None:
        self._repo, self._root, self._index, self._applier = repo, root, index, applier
        self._beliefs, self._reporter, self._settings, self._clock = beliefs, reporter, settings, clock
        self._limiter = limiter
        self._good: Identity | None = None

    def fresh_rules(self) -> Rules:
        """Return the repo's rules with its ignore files still to be read."""
        return Rules(Path(self._root.real), self._repo.include, self._repo.exclude)

    async def check(self, paths: Iterable[str], *, force: bool = False) -> Tally:
        """Look at single paths, at what they turn out to be links to, and below those that are directories or gone."""
        tally = await self._run(set(paths), force)
        if tally.instead - tally.outcomes.keys():
            tally.add(await self._run(tally.instead - tally.outcomes.keys(), force))
        for directory in topmost(tally.directories):
            tally.add((await self.scan(directory)).tally)
        for directory in topmost(tally.gone & self._beliefs.directories):
            tally.add(await self._drop_below(directory))
        if tally.error is None:
            deferred, tally.deferred = tally.deferred, []
            tally.add(await self._applier.run(deferred, deletes=True))
        self._reporter.files(tally.problems, tally.outcomes.keys() - tally.problems.keys())
        return tally

    async def _run(self, paths: set[str], force: bool) -> Tally:
        known = await self._entries(paths)
        works = [Work(path, known.get(path), force=force) for path in sorted(paths)]
        return await self._applier.run(works, deletes=False)

    async def _entries(self, paths: Iterable[str]) -> dict[str, ManifestEntry]:
        ordered = sorted(path for path in paths if path.isascii() or path == printable(path))
        found: dict[str, ManifestEntry] = {}
        for start in range(0, len(ordered), _ENTRIES):
            found.update(await self._index.entries(self._repo.name, ordered[start : start + _ENTRIES]))
        return found

    async def _drop_below(self, directory: str) -> Tally:
        """Publish the end of everything below a directory that is gone."""
        believed = self._beliefs.merge(await self._index.manifest(self._repo.name), self._clock.monotonic())
        documents = [path for path, entry in believed.items() if is_document(entry)]
        below = [path for path in documents if is_below(path, (directory,))]
        if len(below) > self._settings.storm_paths and self._refuses(len(below), len(documents)):
            self._ask(len(below), len(documents))
            return Tally()
        return await self._applier.run([Work(path, believed[path], listed=True) for path in below], deletes=True)

    async def scan(
        self, under: str = "", *, allow_prune: bool = False, force: bool = False, moved: bool = False
    ) -> Scanned:
        """Compare the repo, or a directory of it, with the index, and publish what differs.

        ``moved`` says that git has checked out another commit, which explains why many files are gone. Raises
        RootGoneError, and what the index raises when it cannot say what it holds.
        """
        began = self._clock.monotonic()
        if not under:
            self._applier.rules = self.fresh_rules()
        walk, believed = await self._both_sides(under)
        plan = await self._plan(walk, believed, force)
        emptied = not (under or walk.files or walk.unlisted) and self._good != self._root.identity
        refused = not (allow_prune or moved) and (
            self._refuses(len(plan.drops), plan.documents) or (emptied and bool(plan.drops))
        )
        tally = await self._applier.run(plan.works, deletes=False)
        if tally.error is None:
            deferred, tally.deferred = tally.deferred, []
            tally.add(await self._applier.run([*deferred, *(() if refused else plan.drops)], deletes=True))
        self._conclude(walk, plan, tally, refused)
        took = (self._clock.monotonic() - began) * 1000
        missed = await to_thread.run_sync(self._missed, walk, tally, limiter=self._limiter)
        return Scanned(self._report(walk, plan, tally, refused, took), tally, missed)

    async def _both_sides(self, under: str) -> tuple[Walk, dict[str, ManifestEntry]]:
        async def walked() -> Walk:
            return await scan(self._root, self._applier.rules, under, now_ns=self._clock.time_ns, limiter=self._limiter)

        async def listed() -> Mapping[str, ManifestEntry]:
            return await self._index.manifest(self._repo.name)

        if under and under not in self._beliefs.directories:
            walk = await walked()
            return walk, self._believed(await self._entries(walk.files), walk.files)
        walk, manifest = await _both(walked, listed)
        return walk, self._beliefs.merge(manifest, self._clock.monotonic())

    def _believed(self, entries: Mapping[str, ManifestEntry], paths: Iterable[str]) -> dict[str, ManifestEntry]:
        found = ((path, self._beliefs.believe(path, entries.get(path))) for path in paths)
        return {path: entry for path, entry in found if entry is not None}

    async def _plan(self, walk: Walk, believed: Mapping[str, ManifestEntry], force: bool) -> Plan:
        limit = self._settings.max_file_bytes
        plan = await make_plan(walk, believed, self._beliefs.hash_of, max_bytes=limit, force=force)
        for path, error in self._applier.rules.unreadable.items():
            plan.problems[path] = Problem(path, "unreadable", f"its rules cannot be read: {error}")
        return plan

    def _refuses(self, dropped: int, documents: int) -> bool:
        return prunes_too_much(dropped, documents, self._settings.prune_share)

    def _ask(self, dropped: int, documents: int) -> Problem:
        problem = Problem(
            "",
            "prune_refused",
            f"{dropped} of {documents} documents are gone from {self._root.path}; none of them was dropped",
            f"if that is right: recall reindex --repo {self._repo.name} --allow-prune",
        )
        self._reporter.raise_own(problem)
        return problem

    def _conclude(self, walk: Walk, plan: Plan, tally: Tally, refused: bool) -> None:
        """Turn what was seen into findings, and remember that this root is the right one."""
        problems = plan.problems | tally.problems
        if tally.error is not None:
            self._reporter.files(problems, ())
        else:
            self._reporter.all_files(problems, under=walk.under)
        if refused:
            self._ask(len(plan.drops), plan.documents)
        elif not walk.under and tally.error is None:
            self._reporter.clear_own("prune_refused")
            self._beliefs.trim(walk.files)
            self._good = self._root.identity

    def _report(self, walk: Walk, plan: Plan, tally: Tally, refused: bool, took_ms: float) -> ScanReport:
        problems = plan.problems | tally.problems
        skipped = {path for path, outcome in tally.outcomes.items() if outcome is Outcome.SKIPPED}
        skipped |= {path for path, problem in problems.items() if problem.code == "too_large"}
        return ScanReport(
            repo=self._repo.name,
            seen=len(walk.files),
            changed=tally.count(Outcome.CHANGED),
            deleted=tally.count(Outcome.DELETED),
            skipped=len(skipped),
            refused=len(plan.drops) if refused else 0,
            unreadable=sum(1 for problem in problems.values() if problem.code in ("unreadable", "name_not_utf8")),
            took_ms=round(took_ms, 1),
            error=self._error(plan, tally, refused),
            last_seq=tally.last.seq if tally.last else 0,
        )

    def _error(self, plan: Plan, tally: Tally, refused: bool) -> ErrorBody | None:
        if tally.error is not None:
            left = f"{len(tally.failed)} files are still to be published: {tally.error}"
            return ErrorBody(code="dependency", message=left, suggestion="it is tried again by itself")
        if not refused:
            return None
        problem = self._ask(len(plan.drops), plan.documents)
        return ErrorBody(code="refused", message=problem.message, suggestion=problem.hint)

    def _missed(self, walk: Walk, tally: Tally) -> tuple[str, ...]:
        before = walk.observed_ns - RACY_NS
        changed = [path for path, outcome in tally.outcomes.items() if outcome in _CHANGES]
        return tuple(sorted(path for path in changed if self._is_older(walk, path, before)))

    def _is_older(self, walk: Walk, path: str, before_ns: int) -> bool:
        found = walk.files.get(path)
        if found is not None:
            return found.ctime_ns < before_ns
        parent = path.rpartition("/")[0]
        while True:
            try:
                return os.stat(self._root.full(parent)).st_mtime_ns < before_ns
            except OSError:
                if not parent:
                    return False
            parent = parent.rpartition("/")[0]


_CHANGES = frozenset({Outcome.CHANGED, Outcome.SKIPPED, Outcome.DELETED})


async def _both(first: Callable[[], Awaitable[A]], second: Callable[[], Awaitable[B]]) -> tuple[A, B]:
    """Run two at once; the failure of one stops the other and is raised as it is."""
    firsts: list[A] = []
    seconds: list[B] = []

    async def run_first() -> None:
        firsts.append(await first())

    try:
        async with create_task_group() as group:
            group.start_soon(run_first)
            seconds.append(await second())
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return firsts[0], seconds[0]
