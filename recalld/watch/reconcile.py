"""Disk against index: of a few paths, of a directory, or of the whole repo, with deletions last and guarded."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from anyio import CapacityLimiter, to_thread

from recalld.bus.wire import ErrorBody, ScanReport
from recalld.concurrent import both
from recalld.model import ManifestEntry, Repo
from recalld.settings import WatchSettings
from recalld.watch.apply import Applier, Outcome, Tally, Work
from recalld.watch.beliefs import Beliefs
from recalld.watch.compare import RACY_NS, is_document, prunes_too_much
from recalld.watch.disk import Identity, Problem, Root, printable
from recalld.watch.hints import is_below, topmost
from recalld.watch.ignore import Rules
from recalld.watch.plan import Plan, make_plan
from recalld.watch.ports import Ports
from recalld.watch.reports import Reporter
from recalld.watch.scan import Walk, scan

_ENTRIES = 200
"""Paths asked about in one request."""


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
        applier: Applier,
        beliefs: Beliefs,
        reporter: Reporter,
        ports: Ports,
        settings: WatchSettings,
        limiter: CapacityLimiter,
    ) -> None:
        self._repo, self._root, self._applier, self._beliefs, self._reporter = repo, root, applier, beliefs, reporter
        self._index, self._clock, self._settings, self._limiter = ports.index, ports.clock, settings, limiter
        self._good: Identity | None = None

    def fresh_rules(self) -> Rules:
        """Return the repo's rules with its ignore files still to be read."""
        return Rules(Path(self._root.real), self._repo.include, self._repo.exclude)

    async def check(self, paths: Iterable[str], *, reread: bool = False, force: bool = False) -> Tally:
        """Look at single paths, at what they turn out to be links to, and below those that are or were directories."""
        tally = await self._run(set(paths), reread, force)
        if tally.instead - tally.outcomes.keys():
            tally.add(await self._run(tally.instead - tally.outcomes.keys(), reread, force))
        for directory in topmost(tally.directories):
            tally.add((await self.scan(directory)).tally)
        for directory in topmost(tally.others & self._beliefs.directories):
            tally.add(await self._drop_below(directory))
        if tally.error is None:
            deferred, tally.deferred = tally.deferred, []
            tally.add(await self._applier.run(deferred, deletes=True))
        self._reporter.files(tally.problems, tally.outcomes.keys() - tally.problems.keys())
        return tally

    async def _run(self, paths: set[str], reread: bool, force: bool) -> Tally:
        known = await self._entries(paths)
        works = [Work(path, known.get(path), reread=reread, force=force) for path in sorted(paths)]
        return await self._applier.run(works, deletes=False)

    async def _entries(self, paths: Iterable[str]) -> dict[str, ManifestEntry]:
        ordered = sorted(path for path in paths if path.isascii() or path == printable(path))
        found: dict[str, ManifestEntry] = {}
        for start in range(0, len(ordered), _ENTRIES):
            found.update(await self._index.entries(self._repo.name, ordered[start : start + _ENTRIES]))
        return found

    async def _drop_below(self, directory: str) -> Tally:
        """Publish the end of everything below what is no directory any more."""
        believed = self._beliefs.merge(await self._index.manifest(self._repo.name), self._clock.monotonic())
        documents = {path: entry for path, entry in believed.items() if is_document(entry)}
        drops = [Work(path, entry, listed=True) for path, entry in documents.items() if is_below(path, (directory,))]
        lost = self._lost(drops, documents)
        if len(drops) > self._settings.storm_paths and self._refuses(lost, len(documents)):
            self._reporter.raise_own(self._question(lost, len(documents)))
            return Tally()
        return await self._applier.run(drops, deletes=True)

    async def scan(
        self, under: str = "", *, allow_prune: bool = False, force: bool = False, moved: bool = False
    ) -> Scanned:
        """Compare the repo, or a directory of it, with the index, and publish what differs.

        ``moved`` says that git has checked out another commit, which explains why many files are gone. Raises
        RootGoneError, and what the index raises when it cannot say what it holds.
        """
        began = self._clock.monotonic()
        self._applier.rules = self.fresh_rules()
        walk, believed = await self._both_sides(under)
        plan = await self._plan(walk, believed, force)
        tally = await self._applier.run(plan.works, deletes=False)
        tally.listed = walk.directories
        question = None if allow_prune or moved else self._doubt(walk, plan, believed, tally)
        if tally.error is None:
            deferred, tally.deferred = tally.deferred, []
            tally.add(await self._applier.run([*deferred, *(() if question else plan.drops)], deletes=True))
        self._conclude(walk, plan, tally, question)
        took_ms = round((self._clock.monotonic() - began) * 1000, 1)
        missed = await to_thread.run_sync(self._missed, walk, tally, limiter=self._limiter)
        return Scanned(self._report(walk, plan, tally, question, took_ms), tally, missed)

    def _doubt(self, walk: Walk, plan: Plan, believed: Mapping[str, ManifestEntry], tally: Tally) -> Problem | None:
        """Return the question to ask before the plan's documents are dropped, None where there is no doubt."""
        if not plan.drops:
            return None
        emptied = not (walk.under or walk.files or walk.unlisted) and self._good != self._root.identity
        lost = self._lost(plan.drops, believed, tally.outcomes)
        return self._question(lost, plan.documents) if emptied or self._refuses(lost, plan.documents) else None

    def _lost(self, drops: Iterable[Work], believed: Mapping[str, ManifestEntry], seen: Iterable[str] = ()) -> int:
        """Count the drops whose content stands under no other path: the others were only moved."""
        known = {work.path: work.known.content_hash if work.known else "" for work in drops}
        kept = {entry.content_hash for path, entry in believed.items() if path not in known and is_document(entry)}
        kept |= {entry.content_hash for path in seen if (entry := self._beliefs.believe(path, None)) is not None}
        return sum(1 for content_hash in known.values() if not content_hash or content_hash not in kept)

    async def _both_sides(self, under: str) -> tuple[Walk, dict[str, ManifestEntry]]:
        async def walked() -> Walk:
            return await scan(self._root, self._applier.rules, under, now_ns=self._clock.time_ns, limiter=self._limiter)

        async def listed() -> Mapping[str, ManifestEntry]:
            return await self._index.manifest(self._repo.name)

        if under and under not in self._beliefs.directories:
            walk = await walked()
            return walk, self._believed(await self._entries(walk.files), walk.files)
        walk, manifest = await both(walked, listed)
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

    def _question(self, dropped: int, documents: int) -> Problem:
        return Problem(
            "",
            "prune-refused",
            f"{dropped} of {documents} documents are gone from {self._root.path}; none of them was dropped",
            f"if that is right: recall reindex --repo {self._repo.name} --allow-prune",
        )

    def _conclude(self, walk: Walk, plan: Plan, tally: Tally, question: Problem | None) -> None:
        """Turn what was seen into findings, and remember that this root is the right one."""
        problems = plan.problems | tally.problems
        if tally.error is not None:
            self._reporter.files(problems, ())
        else:
            self._reporter.all_files(problems, under=walk.under)
        if question is not None:
            self._reporter.raise_own(question)
        elif not walk.under and tally.error is None:
            self._reporter.clear_own("prune-refused")
            self._beliefs.trim(walk.files)
            self._good = self._root.identity

    def _report(self, walk: Walk, plan: Plan, tally: Tally, question: Problem | None, took_ms: float) -> ScanReport:
        problems = plan.problems | tally.problems
        skipped = {path for path, outcome in tally.outcomes.items() if outcome is Outcome.SKIPPED}
        skipped |= {path for path, problem in problems.items() if problem.code == "too-large"}
        return ScanReport(
            repo=self._repo.name,
            seen=len(walk.files),
            changed=tally.count(Outcome.CHANGED),
            deleted=tally.count(Outcome.DELETED),
            skipped=len(skipped),
            refused=len(plan.drops) if question else 0,
            unreadable=sum(1 for problem in problems.values() if problem.code in ("unreadable", "name-not-utf8")),
            took_ms=took_ms,
            error=_error(tally, question),
            last_seq=tally.last.seq if tally.last else 0,
        )

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


def _error(tally: Tally, question: Problem | None) -> ErrorBody | None:
    if tally.error is not None:
        left = f"{len(tally.failed)} files are still to be published: {tally.error}"
        return ErrorBody(code="dependency", message=left, suggestion="it is tried again by itself")
    if question is not None:
        return ErrorBody(code="refused", message=question.message, suggestion=question.hint)
    return None
