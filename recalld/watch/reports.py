"""What a repo's watcher has to say that is no document: state, commit, findings. Sent when it changes, or again later.

Holds what should be known and what was sent; ``flush`` closes the gap, so a report that could not be sent is not lost.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from datetime import datetime

from anyio import Lock

from recalld.errors import RecalldError
from recalld.model import Finding, Severity
from recalld.watch.apply import TRANSIENT
from recalld.watch.disk import Problem, printable
from recalld.watch.hints import is_below
from recalld.watch.ports import Observer

log = logging.getLogger(__name__)

MAX_FINDINGS = 200
"""Paths of one repo that are reported one by one; beyond it their number is."""
_BATCH = 50


class Reporter:
    """Reports on one repo. Problems of the repo itself have the empty path and are told apart by their code."""

    def __init__(self, repo: str, observer: Observer) -> None:
        self.state = "scanning"
        self.commit: str | None = None
        self.scanned_at: datetime | None = None
        self._repo, self._observer = repo, observer
        self._files: dict[str, Problem] = {}
        self._own: dict[str, Problem] = {}
        self._sent: dict[str, tuple[Finding, ...]] = {}
        self._sent_facts: tuple[str | None, str | None, datetime | None] = (None, None, None)
        self._complete = False
        self._waits = False
        self._lock = Lock()

    def files(self, problems: Mapping[str, Problem], fine: Iterable[str]) -> None:
        """Note the problems of some files; those in ``fine`` have none (any more)."""
        for path in fine:
            self._files.pop(printable(path), None)
        self._files.update((problem.path, problem) for problem in problems.values())

    def all_files(self, problems: Mapping[str, Problem], *, under: str = "") -> None:
        """Note the problems of all files of the repo, or of those below a directory."""
        if under:
            self._files = {path: p for path, p in self._files.items() if path != under and not is_below(path, (under,))}
        else:
            self._files = {}
            self._complete = True
        self.files(problems, ())

    def raise_own(self, problem: Problem) -> None:
        """Note a problem of the repo as a whole."""
        self._own[problem.code] = problem

    def clear_own(self, *codes: str) -> None:
        """Say that the repo does not have these problems (any more)."""
        for code in codes:
            self._own.pop(code, None)

    @property
    def problems(self) -> list[Problem]:
        """Everything that is wrong now."""
        return [*self._own.values(), *self._files.values()]

    async def flush(self) -> bool:
        """Send what is new; tells whether all of it is sent. Waits for its turn; what keeps it is logged."""
        async with self._lock:
            complete, self._complete = self._complete, False
            try:
                await self._send(complete)
            except (*TRANSIENT, RecalldError) as error:
                self._complete |= complete
                log.log(logging.DEBUG if self._waits else logging.WARNING, "report on %s waits: %s", self._repo, error)
                self._waits = True
                return False
            self._waits = False
            return True

    async def _send(self, complete: bool) -> None:
        wanted = self._wanted()
        facts = (self.state, self.commit, self.scanned_at)
        sent = {} if complete else self._sent
        changed = [path for path, findings in wanted.items() if sent.get(path) != findings]
        cleared = [path for path in sent if path not in wanted]
        if not (changed or cleared or complete or facts != self._sent_facts):
            return
        batches = [changed[i : i + _BATCH] for i in range(0, len(changed), _BATCH)] or [[]]
        for number, batch in enumerate(batches):
            first = number == 0
            await self._observer.observe(
                self._repo,
                state=facts[0],
                commit=facts[1],
                scanned_at=facts[2],
                findings=[finding for path in batch for finding in wanted[path]],
                cleared=cleared if first else (),
                complete=complete and first,
            )
        self._sent, self._sent_facts = wanted, facts

    def _wanted(self) -> dict[str, tuple[Finding, ...]]:
        shown = dict(sorted(self._files.items())[:MAX_FINDINGS])
        own = list(self._own.values())
        if len(shown) < len(self._files):
            more = len(self._files) - len(shown)
            own.append(Problem("", "more_findings", f"{more} more files have problems", severity=Severity.NOTE))
        wanted: dict[str, tuple[Finding, ...]] = {}
        if own:
            wanted[""] = tuple(self._finding(problem) for problem in own)
        for problem in shown.values():
            wanted[problem.path] = (*wanted.get(problem.path, ()), self._finding(problem))
        return wanted

    def _finding(self, problem: Problem) -> Finding:
        return Finding(self._repo, problem.path, problem.code, problem.severity, problem.message, problem.hint)
