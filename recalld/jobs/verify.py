"""The job ``verify``: index against disk, graph against files, orphans.

It reports, and repairs nothing but what the scan itself publishes. The index is a view of the files: a repo that is
removed and added again is indexed from nothing. A fault that comes back after that is one of recalld's own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recalld.errors import RecalldError
from recalld.jobs.job import Progress
from recalld.model import Finding, Repo, Severity
from recalld.store import Store
from recalld.store.rows import Fault

SOURCE = "verify"
Scan = Callable[[Repo], Awaitable[Mapping[str, Any]]]
"""Has a repo's watching node compare disk with index; returns what differed, as counts. Raises RecalldError."""

_MEANING = {
    "missing-in-generation": "the document is not in the index that answers",
    "chunk-without-generation": "passages are kept for an index that does not know the document",
    "chunk-without-postings": "passages cannot be found by their words",
    "chunk-without-vector": "passages cannot be found by their meaning",
    "contents-without-text": "passages are kept of a document that holds none",
    "edge-without-file": "links and claims are kept of a file that is gone",
    "claim-without-target": "it says that it replaced, or was replaced by, what is not there",
}
_BY_PEOPLE = frozenset({"claim-without-target"})
"""What is no fault of the index, but of the files."""


@dataclass(frozen=True, slots=True)
class Verify:
    """Has each repo scanned, then looks through the index; what is wrong with a document is kept as its finding."""

    store: Store
    scan: Scan
    clock: Callable[[], datetime]

    async def __call__(self, progress: Progress) -> Mapping[str, Any]:
        """Return what differed by repo (``error`` for one that could not be scanned), and the faults by code."""
        repos = await self.store.repos.list()
        scans: dict[str, Mapping[str, Any]] = {}
        for number, repo in enumerate(repos):
            progress(number, len(repos) + 1, f"comparing {repo.name} with its files")
            scans[repo.name] = await self._scan(repo)
        progress(len(repos), len(repos) + 1, "looking through the index")
        found = await self.store.integrity.faults(
            lambda done, total, words: progress(len(repos) * total + done, (len(repos) + 1) * total, words)
        )
        await self._keep(repos, [fault for _, faults in found.values() for fault in faults])
        faults = {code: count for code, (count, _) in found.items() if count}
        return {"repos": scans, "faults": faults, "sound": not faults.keys() - _BY_PEOPLE}

    async def _scan(self, repo: Repo) -> Mapping[str, Any]:
        try:
            return await self.scan(repo)
        except RecalldError as error:
            return {"error": error.message}

    async def _keep(self, repos: Sequence[Repo], faults: Sequence[Fault]) -> None:
        at = self.clock()
        for repo in repos:
            by_path: dict[str, list[Finding]] = {}
            for fault in faults:
                if fault.repo == repo.name:
                    by_path.setdefault(fault.path, []).append(_finding(fault))
            await self.store.findings.clear_others(repo.name, SOURCE, list(by_path))
            for path, own in by_path.items():
                await self.store.findings.replace(repo.name, path, SOURCE, own, at=at)


def _finding(fault: Fault) -> Finding:
    by_people = fault.code in _BY_PEOPLE
    detail = f": {fault.detail[:200]}" if fault.detail else f" ({fault.count} of them)"
    return Finding(
        fault.repo,
        fault.path,
        fault.code,
        Severity.WARNING if by_people else Severity.ERROR,
        f"{_MEANING[fault.code]}{detail}",
        "correct the name" if by_people else f"recall repo remove {fault.repo}, and add it again",
    )
