"""Whether two lessons are one lesson: the same words, and nothing that turns the meaning round.

Likeness of words cannot tell "enable" from "disable", so that alike texts must also agree in what a lesson turns on:
negations, opposites, the order of steps, numbers, flags, names and identifiers, and single words that were exchanged.
Where in doubt two lessons stay two: one too many can be merged by a person later. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from recalld import agreement
from recalld.agreement import flags, names, numbers, plain, stems
from recalld.trust.compare import contradictions

ALIKE = 0.7
"""Likeness from which two lessons are one. Chosen on the half ``tune`` of ``tests/data/lessons_pairs.jsonl``."""
NEAR_TITLE = 0.6
"""Titles or checks that are so much the same sequence differ in exchanged words, not in wording."""
_STORY = 0.15
"""What all the words count beside those of the statement."""
_SLOT = 3
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?\b")


@dataclass(frozen=True)
class Said:
    """What a lesson says. ``statement`` is what it comes to: its title and check, or body where it has no check."""

    title: str
    check: str = ""
    body: str = ""

    @cached_property
    def statement(self) -> str:
        """Title and check, one a line; dates left out."""
        return _DATE.sub("", plain(f"{self.title}.\n{self.check or self.body}."))

    @cached_property
    def folded(self) -> str:
        """All of it, without case, punctuation and spacing."""
        return " ".join(re.findall(r"[^\W_]+", plain(f"{self.title} {self.check} {self.body}").casefold()))

    @cached_property
    def heads(self) -> frozenset[str]:
        """The stems of its statement."""
        return stems(self.statement)

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of all its words."""
        return stems(plain(f"{self.title} {self.check} {self.body}"))


def likeness(ours: Said, theirs: Said) -> float:
    """Return how much two lessons say the same, 0 to 1: mostly by what they come to, a little by their stories."""
    if ours.folded == theirs.folded:
        return 1.0
    return (1 - _STORY) * _dice(ours.heads, theirs.heads) + _STORY * _dice(ours.stems, theirs.stems)


def same_lesson(ours: Said, theirs: Said) -> bool:
    """Tell whether two lessons are one."""
    if ours.heads == theirs.heads and ours.folded == theirs.folded:
        return True
    if not _near(len(ours.heads & theirs.heads), len(ours.heads) + len(theirs.heads)):
        return False
    return likeness(ours, theirs) >= ALIKE and not difference(ours, theirs)


def same_pairs(said: Sequence[Said]) -> set[tuple[int, int]]:
    """Return the pairs of lessons that are one, by their numbers in ``said``, the lower number first."""
    holders: dict[str, list[int]] = {}
    found: set[tuple[int, int]] = set()
    for number, own in enumerate(said):
        shared = Counter(other for stem in own.heads or {""} for other in holders.get(stem, ()))
        for other, count in shared.items():
            near = not own.heads or _near(count, len(own.heads) + len(said[other].heads))
            if near and same_lesson(own, said[other]):
                found.add((other, number))
        for stem in own.heads or {""}:
            holders.setdefault(stem, []).append(number)
    return found


def _near(shared: int, both: int) -> bool:
    """Tell whether statements share so much that two lessons could be one; no story could make up for less."""
    return 2 * shared >= (ALIKE - _STORY) / (1 - _STORY) * both


def difference(ours: Said, theirs: Said) -> str:
    """Return what two lessons that sound alike do not agree in, in words; empty where they agree."""
    first, second = ours.statement, theirs.statement
    return next(
        (
            why
            for why, differs in (
                ("a number", numbers(first) != numbers(second)),
                ("a flag", flags(first) != flags(second)),
                ("a name", _exclusive(names(first), names(second))),
                ("a negation", _unlike(ours, theirs, agreement.denies)),
                ("a limit", _unlike(ours, theirs, agreement.limits)),
                ("an opposite", _opposed(ours, theirs)),
                ("the order of steps", agreement.turned_round(first, second)),
                ("a word", _exchanged(ours.title, theirs.title) or _exchanged(ours.check, theirs.check)),
                ("a statement", _contradicts(ours, theirs)),
            )
            if differs
        ),
        "",
    )


def _dice(ours: frozenset[str], theirs: frozenset[str]) -> float:
    return 2 * len(ours & theirs) / (len(ours) + len(theirs)) if ours and theirs else 0.0


def _exclusive(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """Tell whether each has something that the other has not."""
    return bool(ours - theirs) and bool(theirs - ours)


def _unlike(ours: Said, theirs: Said, trait: Callable[[str], bool]) -> bool:
    """Tell whether title or check of one has a trait that the other's has not."""
    pairs = ((ours.title, theirs.title), (ours.check, theirs.check))
    return any(first and second and trait(first) != trait(second) for first, second in pairs)


def _opposed(ours: Said, theirs: Said) -> bool:
    """Tell whether title or check of one has a word where the other's has its opposite."""
    pairs = ((ours.title, theirs.title), (ours.check, theirs.check))
    return any(agreement.opposed(first, second) for first, second in pairs)


def _exchanged(ours: str, theirs: str) -> bool:
    """Tell whether two lines are the same but for a word or two that mean something else."""
    first, second = agreement.sequence(ours), agreement.sequence(theirs)
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    if not first or not second or matcher.ratio() < NEAR_TITLE:
        return False
    moved = set(first) & set(second)
    for kind, a, b, c, d in matcher.get_opcodes():
        gone, come = set(first[a:b]) - moved, set(second[c:d]) - moved
        if kind == "replace" and gone and come and len(gone) <= _SLOT and len(come) <= _SLOT:
            return True
    return False


def _contradicts(ours: Said, theirs: Said) -> bool:
    """Tell whether a sentence of one's story denies one of the other's; numbers in stories are told anew each time."""
    against = contradictions(plain(ours.body), plain(theirs.body))
    return any(each.differs == "one says not" for each in against)
