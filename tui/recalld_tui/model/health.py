"""One glance: healthy or not, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum

from recalld.bus import wire
from recalld.model import State
from recalld_tui.model.text import age, counted, line

UNWELL_JOBS = ("failed", "timed_out", "lost")
UNWELL_REPOS = ("offline",)
SETTLING = timedelta(seconds=30)
"""How long files may wait to be indexed before that is worth a word: a save is recallable sooner."""


class Level(IntEnum):
    """How it stands, worst last."""

    HEALTHY = 0
    NOTE = 1
    WARMING = 2
    ATTENTION = 3
    UNWELL = 4
    AWAY = 5


WORDS = {
    Level.HEALTHY: "Healthy",
    Level.NOTE: "Healthy",
    Level.WARMING: "Warming up",
    Level.ATTENTION: "Needs a look",
    Level.UNWELL: "Unwell",
    Level.AWAY: "Reconnecting",
}
MARKS = {
    Level.HEALTHY: "●",
    Level.NOTE: "●",
    Level.WARMING: "◐",
    Level.ATTENTION: "▲",
    Level.UNWELL: "■",
    Level.AWAY: "◌",
}


@dataclass(frozen=True, slots=True)
class Reason:
    """Something that is not as it should be, and what to do about it."""

    level: Level
    words: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The worst of all reasons, and the reasons, worst first."""

    level: Level
    reasons: tuple[Reason, ...] = ()

    @property
    def word(self) -> str:
        """Return the level in a word."""
        return WORDS[self.level]

    @property
    def mark(self) -> str:
        """Return a sign that tells the level without colours."""
        return MARKS[self.level]


def away(message: str, suggestion: str = "") -> Diagnosis:
    """Return what to say while no daemon answers."""
    return Diagnosis(Level.AWAY, (Reason(Level.AWAY, line(message), line(suggestion)),))


def diagnose(
    health: wire.HealthReply, stats: wire.StatsReply | None, jobs: wire.JobsReply | None, now: datetime
) -> Diagnosis:
    """Return how it stands; ``stats`` and ``jobs`` are None where they are not known yet."""
    found = [*_of_checks(health)]
    if stats is not None:
        found += [*_of_repos(stats), *_of_freshness(stats, now), *_of_generations(stats), *_of_calibration(stats)]
    if jobs is not None:
        found += [*_of_jobs(jobs)]
    found.sort(key=lambda reason: -reason.level)
    return Diagnosis(max((reason.level for reason in found), default=Level.HEALTHY), tuple(found))


def _of_checks(health: wire.HealthReply) -> Iterator[Reason]:
    levels = {"failed": Level.UNWELL, "degraded": Level.ATTENTION, "warming": Level.WARMING}
    for check in health.checks:
        if check.status != "ok":
            words = f"{check.name} {check.status}{f': {check.detail}' if check.detail else ''}"
            yield Reason(levels[check.status], line(words), line(check.suggestion))
    if health.state is not State.READY and all(check.status == "ok" for check in health.checks):
        yield Reason(Level.ATTENTION, f"the daemon says it is {health.state}", "see `recall health`")


def _of_repos(stats: wire.StatsReply) -> Iterator[Reason]:
    if not stats.repos:
        yield Reason(Level.ATTENTION, "no repo is watched yet", "recall repo add PATH")
    for repo in stats.repos:
        if repo.state in UNWELL_REPOS:
            yield Reason(Level.UNWELL, line(f"{repo.name} is {repo.state}: {repo.path}"), "is the directory there?")


def _of_freshness(stats: wire.StatsReply, now: datetime) -> Iterator[Reason]:
    fresh = stats.freshness
    if fresh.failed:
        words = f"{counted(fresh.failed, 'file')} could not be indexed"
        yield Reason(Level.ATTENTION, words, "screen 5 names them, and tries again")
    if fresh.stale:
        words = f"{counted(fresh.stale, 'file')} on disk known to differ from the index"
        yield Reason(Level.ATTENTION, words, "screen 5 names them")
    newest = fresh.newest_indexed_at
    if fresh.pending and (newest is None or now - newest > SETTLING):
        words = f"{counted(fresh.pending, 'file')} waiting, and nothing indexed since {age(newest, now)}"
        yield Reason(Level.ATTENTION, words, "does a node with the role index run?")
    if fresh.aged:
        yield Reason(Level.NOTE, f"the newest memory was indexed {age(newest, now)}", "trust.stale_after_hours")


def _of_generations(stats: wire.StatsReply) -> Iterator[Reason]:
    if stats.repos and not any(each.state == "serving" for each in stats.generations):
        yield Reason(Level.WARMING, "no generation serves yet: the first index is being built")
    for each in stats.generations:
        if each.state == "building":
            words = f"generation {each.id} is being built: {each.documents:,} of {each.total:,}"
            yield Reason(Level.NOTE, words)


def _of_calibration(stats: wire.StatsReply) -> Iterator[Reason]:
    if stats.calibration is None and any(repo.documents for repo in stats.repos):
        yield Reason(Level.NOTE, "not calibrated: answers are unverified", "recall calibrate")


def _of_jobs(jobs: wire.JobsReply) -> Iterator[Reason]:
    for job in jobs.jobs:
        if job.last is not None and job.last.state in UNWELL_JOBS:
            words = f"job {job.name} {job.last.state.replace('_', ' ')}: {job.last.error}"
            yield Reason(Level.ATTENTION, line(words), "screen 7 runs it again")


def nodes(
    services: Sequence[wire.ServiceView], stats: wire.StatsReply, jobs: wire.JobsReply | None
) -> list[tuple[str, str]]:
    """Return each node that is heard of, and what is known of it."""
    known: dict[str, list[str]] = {}
    for service in services:
        requests = sum(verb.requests for verb in service.verbs.values())
        known.setdefault(service.node, []).append(f"answers ({counted(requests, 'request')})")
    for repo in stats.repos:
        known.setdefault(repo.node, []).append(f"watches {repo.name}")
    for run in jobs.runs if jobs else ():
        if run.state == "running":
            known.setdefault(run.node, []).append(f"runs {run.name}")
    return [(node, ", ".join(dict.fromkeys(facts))) for node, facts in sorted(known.items())]
