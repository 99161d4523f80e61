"""What keeps a memory in order, put together for the roles that do it: scheduled jobs, and the life of lessons."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recalld.bus import wire
from recalld.bus.files import FileClient
from recalld.bus.scan import ScanClient
from recalld.bus.streams import IngestStream
from recalld.foundation import now
from recalld.ingest.sources import FILES, sources_of
from recalld.jobs.drift import CalibrateDrift
from recalld.jobs.episodes import EpisodeCare
from recalld.jobs.job import Progress, Runner
from recalld.jobs.lint import Lint
from recalld.jobs.maintain import Maintain, Step
from recalld.jobs.retention import Retention
from recalld.jobs.verify import Verify
from recalld.lessons.policy import LearnPolicy
from recalld.model import Repo
from recalld.node import Node
from recalld.serve.repo_files import RepoFiles
from recalld.serve.runs import Runs
from recalld.serve.tending import Tending
from recalld.store import Store

_COMPARED = {"seen", "changed", "deleted", "skipped", "refused", "unreadable", "error"}
"""What verify tells of a scan."""


@dataclass(frozen=True, slots=True)
class Policies:
    """Reads what a repo says of learning, from its own files as the index has them."""

    store: Store

    async def __call__(self, repo: Repo) -> LearnPolicy:
        """Return the repo's word, the defaults where it says nothing."""
        sources = sources_of((await self.store.guides.named([repo.id], FILES)).get(repo.id, {}))
        return LearnPolicy(sources.folder, sources.proposed)


def files_of(node: Node) -> RepoFiles:
    """Return what changes files of repos, wherever those are."""
    connection = node.foundation.connection
    return RepoFiles(node.store, FileClient(connection), ScanClient(connection).scan, IngestStream(connection).newest)


def tending_of(node: Node, files: RepoFiles) -> Tending:
    """Return what looks after lessons; a pass of maintenance lints and verifies, too."""
    runs = Runs(node.store, files, now, lambda: f"{now():%Y%m%d}-{uuid.uuid4().hex[:8]}")
    return Tending(
        node.store,
        files,
        runs,
        Policies(node.store),
        node.settings.lessons,
        node.count_tokens,
        node.usage.flush,
        now,
        (
            _step("episodes", episode_care(node, merge=False)),
            _step("lint", Lint(node.store, now)),
            _step("verify", _verify(node)),
        ),
    )


def episode_care(node: Node, merge: bool) -> EpisodeCare:
    """Return what looks after remembered answers."""
    ask = node.settings.ask
    return EpisodeCare(node.store, ask.episodes, ask.session_days, now, merge)


def runners(node: Node) -> dict[str, Runner]:
    """Return the jobs that a node with the role index can run; each has its time in the schedule's settings."""
    settings, tending = node.settings, tending_of(node, files_of(node))

    async def maintain(progress: Progress) -> Mapping[str, Any]:
        return await Maintain([*tending.steps(None, None), *tending.more_steps], time.monotonic)(progress)

    async def consolidate(progress: Progress) -> Mapping[str, Any]:
        reply = await tending.consolidate(None, wire.ConsolidateRequest())
        return reply.model_dump(mode="json", exclude={"groups": {"__all__": {"merged", "diff"}}})

    return {
        "calibrate-drift": CalibrateDrift(node.calibrator),
        "consolidate": consolidate,
        "episodes": episode_care(node, merge=False),
        "lint": Lint(node.store, now),
        "maintain": maintain,
        "retention": Retention(
            node.store,
            settings.store.tombstone_days,
            settings.store.cached_embeddings,
            settings.trust.receipt_days,
            settings.schedule.history_days,
            now,
        ),
        "verify": _verify(node),
    }


def _verify(node: Node) -> Verify:
    scans = ScanClient(node.foundation.connection)

    async def scan(repo: Repo) -> Mapping[str, Any]:
        report = await scans.scan(repo, wire.ReindexRequest(repo=repo.name))
        return report.model_dump(mode="json", include=_COMPARED, exclude_none=True)

    return Verify(node.store, scan, now)


def _step(name: str, job: Runner) -> Step:
    return Step(name, lambda: job(_unseen))


def _unseen(done: int, total: int, words: str) -> None:
    """Tell nobody: the pass tells of its steps."""
