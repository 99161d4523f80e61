"""The job ``lint``: what is wrong with each memory, by the texts that the index holds, kept as findings.

The rules are those of ``recall lint``. An index node has no disk: what only the disk can tell (a name that is no UTF-8,
a link to a picture) is left to the watcher and to ``recall lint``, and what reading a file alone tells stands among the
findings of its indexing already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from anyio import to_thread

from recalld.ingest.parse import Reading, read
from recalld.jobs.job import Progress
from recalld.lint.check import RULES, Rule
from recalld.lint.memory import Memory, is_note
from recalld.lint.secrets import secrets
from recalld.model import DocumentState, Finding, Repo, Severity
from recalld.store import Store

SOURCE = "lint"
PAGE = 100
"""Documents that are read, or looked through for secrets, before others have their turn."""
_ON_DISK = (DocumentState.INDEXED, DocumentState.SKIPPED, DocumentState.FAILED)


@dataclass(frozen=True, slots=True)
class Lint:
    """Lints the memory of each repo, one after another; each path's findings take the place of those before."""

    store: Store
    clock: Callable[[], datetime]

    async def __call__(self, progress: Progress) -> Mapping[str, Any]:
        """Return how many documents were looked at, and how many findings of each severity there are, by repo."""
        repos = await self.store.repos.list()
        told: dict[str, Any] = {}
        for number, repo in enumerate(repos):
            counts = await self._repo(repo, lambda words, n=number: progress(n, len(repos), words))  # type: ignore[misc]
            told[repo.name] = dict(counts)
        totals = {str(severity): sum(each[str(severity)] for each in told.values()) for severity in Severity}
        return {**totals, "documents": sum(each["documents"] for each in told.values()), "repos": told}

    async def _repo(self, repo: Repo, about: Callable[[str], None]) -> Mapping[str, int]:
        about(f"reading {repo.name}")
        readings = await self._readings(repo)
        memory = Memory(readings, self.clock(), _there(await self._paths(repo)))
        findings: list[Finding] = []
        for rule in RULES:
            about(f"{repo.name}: {rule.__name__.replace('_', ' ')}")
            findings += await to_thread.run_sync(_apply, rule, memory)
        for start in range(0, len(readings), PAGE):
            about(f"{repo.name}: secrets")
            findings += await to_thread.run_sync(_secrets, readings[start : start + PAGE])
        await self._keep(repo, findings)
        counts = Counter(str(finding.severity) for finding in findings)
        return {**{str(severity): counts[str(severity)] for severity in Severity}, "documents": len(readings)}

    async def _readings(self, repo: Repo) -> list[Reading]:
        readings: list[Reading] = []
        after: str | None = None
        while page := await self.store.documents.texts(repo.id, after=after, limit=PAGE):
            readings += await to_thread.run_sync(_read_all, page)
            after = page[-1][0]
        return readings

    async def _paths(self, repo: Repo) -> list[str]:
        paths: list[str] = []
        after: str | None = None
        while page := await self.store.documents.manifest(repo.id, after=after, limit=1_000):
            paths += [entry.path for entry in page if entry.state in _ON_DISK]
            after = page[-1].path
        return paths

    async def _keep(self, repo: Repo, findings: Sequence[Finding]) -> None:
        at = self.clock()
        by_path: dict[str, list[Finding]] = {}
        for finding in findings:
            by_path.setdefault(finding.path, []).append(finding)
        await self.store.findings.clear_others(repo.name, SOURCE, list(by_path))
        for path, own in by_path.items():
            await self.store.findings.replace(repo.name, path, SOURCE, own, at=at)


def _read_all(page: Sequence[tuple[str, str]]) -> list[Reading]:
    return [read(path, text.encode("utf-8", "replace")) for path, text in page]


def _apply(rule: Rule, memory: Memory) -> list[Finding]:
    return list(rule(memory))


def _secrets(readings: Sequence[Reading]) -> list[Finding]:
    return [found for reading in readings for found in secrets(reading.document.path, reading.lines.text)]


def _there(paths: Iterable[str]) -> Callable[[str], bool]:
    """Return what tells whether there is something at a path; what the index would not hold may be there."""
    known = set(paths)
    folders = {str(parent) for path in known for parent in PurePosixPath(path).parents}

    def exists(path: str) -> bool:
        is_other = bool(PurePosixPath(path).suffix) and not is_note(path)
        return is_other or path in known or path.rstrip("/") in folders

    return exists
