"""Lessons: what fires and what never does, and what could be done about them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from recalld.bus import wire
from recalld_tui.model.text import counted, line

VIEWS = ("lessons", "merges", "prune", "undo")


def is_proposed(lesson: wire.LessonView) -> bool:
    """Tell whether a lesson waits to be accepted."""
    return lesson.status.casefold() == "proposed"


def fired(lesson: wire.LessonView) -> int:
    """Return how often a lesson was shown or found."""
    return lesson.use.surfaced + lesson.use.retrieved


def ordered(lessons: Sequence[wire.LessonView]) -> list[wire.LessonView]:
    """Return those that wait to be accepted first, then by how often they fire."""
    return sorted(lessons, key=lambda each: (not is_proposed(each), -fired(each), each.repo, each.path))


def summary(lessons: Sequence[wire.LessonView]) -> str:
    """Return in a line how many there are, fire, and wait."""
    never = sum(not fired(each) for each in lessons)
    waiting = sum(map(is_proposed, lessons))
    parts = [counted(len(lessons), "lesson"), f"{never} never fired"]
    return ", ".join(parts + ([f"{waiting} wait to be accepted"] if waiting else []))


def acceptance(path: str, text: str) -> str:
    """Return as a diff what accepting a lesson changes in its file: the line that says it is proposed goes."""
    before = text.splitlines()
    after, gone = [], False
    for each in before:
        if not gone and each.replace(" ", "").casefold().startswith("status:proposed"):
            gone = True
            continue
        after.append(each)
    return "\n".join(difflib.unified_diff(before, after, path, path, lineterm="", n=2))


@dataclass(frozen=True, slots=True)
class Stale:
    """A line of what the audit complains about."""

    what: str
    path: str
    reason: str = ""


def complaints(audit: wire.AuditReply) -> list[Stale]:
    """Return what the audit found: no longer in force, and never used."""
    found = []
    for repo in audit.repos:
        found += [Stale(each.verdict, line(f"{repo.repo}:{each.path}"), line(each.reason)) for each in repo.stale]
        found += [Stale("never used", line(f"{repo.repo}:{path}")) for path in repo.never_used]
    return found


def savings(audit: wire.AuditReply) -> list[str]:
    """Return for each repo what reading all would cost, and what showing few saved."""
    told = []
    for repo in audit.repos:
        words = f"{line(repo.repo)}: {repo.loaded_tokens:,} tokens if all were read"
        if repo.saving is not None:
            words += f", {repo.surfaced_tokens:,} shown instead ({repo.saving:.0%} less)"
        told.append(words)
    return told
