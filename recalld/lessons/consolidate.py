"""Lessons that say the same, and the one that could take their place: nothing that any of them says is lost. Pure."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from recalld.ingest.written import prose
from recalld.lessons.lesson_file import LessonFile, digest_of, render
from recalld.lessons.likeness import Said, same_pairs


@dataclass(frozen=True, slots=True)
class Member:
    """A lesson of the memory: its path, its bytes, and what they say."""

    path: str
    content: bytes
    lesson: LessonFile

    @property
    def digest(self) -> str:
        """The sha256 of the bytes."""
        return hashlib.sha256(self.content).hexdigest()


@dataclass(frozen=True)
class Group:
    """Lessons that are all alike, by path. ``why_not`` says why they are not to be merged by a machine."""

    members: tuple[Member, ...]

    @cached_property
    def id(self) -> str:
        """What names this group, as it stands: it is another once one of its files was changed."""
        said = "\n".join(f"{member.path}\0{member.digest}" for member in self.members)
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:12]

    @property
    def why_not(self) -> str:
        """Say what forbids a merge; empty where nothing does."""
        hand = [member.path for member in self.members if not member.lesson.machine_written]
        if hand:
            return f"a person wrote or changed {', '.join(hand)}: merge them by hand"
        pinned = [member.path for member in self.members if member.lesson.pinned]
        if pinned:
            return f"{', '.join(pinned)} is pinned"
        if len({member.lesson.proposed for member in self.members}) > 1:
            return "some of them wait to be accepted: review these first"
        return ""

    @property
    def base(self) -> Member:
        """The member whose place the merged lesson takes: seen most often, and of those the oldest."""
        return min(self.members, key=lambda each: (-each.lesson.seen_count, str(each.lesson.learned_at), each.path))

    def merged(self) -> LessonFile:
        """Return the lesson that could take the place of all."""
        base = self.base.lesson
        others = [member.lesson for member in self.members if member is not self.base]
        everyone = [base, *others]
        narrow = all(lesson.scope for lesson in everyone)
        made = replace(
            base,
            body=_bodies(base, others),
            scope=_united(*(lesson.scope for lesson in everyone)) if narrow else (),
            tags=_united(*(lesson.tags for lesson in everyone)),
            learned_at=min(lesson.learned_at for lesson in everyone if lesson.learned_at),
            seen_count=sum(lesson.seen_count for lesson in everyone),
            last_seen=max(lesson.last_seen for lesson in everyone if lesson.last_seen),
            seen=tuple(sorted(sighting for lesson in everyone for sighting in lesson.seen)),
        )
        return replace(made, digest=digest_of(made))

    def diff(self) -> str:
        """Return how the merged lesson differs from the one whose place it takes, as a unified diff."""
        before = render(self.base.lesson).splitlines()
        after = render(self.merged()).splitlines()
        return "\n".join(difflib.unified_diff(before, after, self.base.path, self.base.path, lineterm=""))


def groups(members: Sequence[Member]) -> list[Group]:
    """Return the groups of two or more lessons all of which are alike, each lesson in one group at most."""
    ordered = sorted(members, key=lambda each: each.path)
    pairs = same_pairs([Said(each.lesson.title, each.lesson.check, each.lesson.body) for each in ordered])
    cliques: list[list[int]] = []
    for number in sorted({number for pair in pairs for number in pair}):
        home = next((clique for clique in cliques if all((other, number) in pairs for other in clique)), None)
        if home is None:
            cliques.append([number])
        else:
            home.append(number)
    return [Group(tuple(ordered[number] for number in clique)) for clique in cliques if len(clique) > 1]


def _bodies(base: LessonFile, others: Sequence[LessonFile]) -> str:
    """Return the body of the merged lesson: the base's, then each paragraph of the others that is not there yet."""
    parts = [base.body] if base.body else []
    lines = {base.title, base.check, base.trigger, *base.body.split("\n")}
    for lesson in others:
        for part in (lesson.title, lesson.check, lesson.trigger, *_paragraphs(lesson.body)):
            if not set(part.split("\n")) <= lines | {""}:
                parts.append(part)
                lines |= set(part.split("\n"))
    return prose("\n\n".join(parts))


def _paragraphs(text: str) -> Iterator[str]:
    """Yield a text's paragraphs; one with code in it is one whole, for code has blank lines and lines that repeat."""
    if "```" in text or "~~~" in text:
        yield text
        return
    yield from (part for part in text.split("\n\n") if part.strip())


def _united(*many: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each for some in many for each in some))
