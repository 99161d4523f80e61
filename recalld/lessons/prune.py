"""Which lessons may be put away: those that nobody needed, that no person wrote, and that had their time. Pure.

Whatever is not known speaks for a lesson: it stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from recalld.lessons.lesson_file import LessonFile
from recalld.store.usage import Use


@dataclass(frozen=True, slots=True)
class Candidate:
    """A lesson of the memory with what became of it."""

    path: str
    lesson: LessonFile
    use: Use


@dataclass(frozen=True, slots=True)
class Kept:
    """A lesson that stays, and why, in words."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What may go, oldest first, and what stays."""

    proposed: tuple[Candidate, ...]
    kept: tuple[Kept, ...]


def decide(
    candidates: Sequence[Candidate], *, now: datetime, grace: timedelta, most: int, counted_since: datetime | None
) -> Decision:
    """Decide on each lesson; ``most`` may go at once. Uses are known since ``counted_since`` (None: not at all)."""
    kept: list[Kept] = []
    free: list[Candidate] = []
    watched = counted_since is not None and counted_since <= now - grace
    for each in candidates:
        reason = why_kept(each, now - grace) or ("" if watched else _unwatched(counted_since))
        if reason:
            kept.append(Kept(each.path, reason))
        else:
            free.append(each)
    free.sort(key=lambda each: (each.lesson.learned_at or now, each.path))
    kept += [Kept(each.path, f"{most} go at once at most; it may go with the next run") for each in free[most:]]
    return Decision(tuple(free[:most]), tuple(sorted(kept, key=lambda each: each.path)))


def why_kept(candidate: Candidate, before: datetime) -> str:
    """Return why a lesson stays that may go only if it was last seen before a moment; empty where it may go."""
    lesson, use = candidate.lesson, candidate.use
    if lesson.pinned:
        return "it is pinned"
    if not lesson.machine_written:
        return "a person wrote it, or changed it"
    if lesson.proposed:
        return "it waits to be accepted or rejected"
    if use.used:
        return (
            f"it was of use: surfaced {use.surfaced}, retrieved {use.retrieved}, marked {use.helped + use.failed} times"
        )
    if lesson.seen_count > 1 or len(lesson.seen) > 1 or use.recurred:
        return f"the failure recurred: seen {max(lesson.seen_count, len(lesson.seen), 1 + use.recurred)} times"
    times = [lesson.learned_at, lesson.last_seen, *(sighting.at for sighting in lesson.seen)]
    if any(at is None or at >= before for at in times):
        return "it is too young"
    return ""


def _unwatched(since: datetime | None) -> str:
    told = f"only since {since:%Y-%m-%d}" if since is not None else "not yet"
    return f"whether it is used is known {told}"
