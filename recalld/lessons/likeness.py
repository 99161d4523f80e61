"""Whether two lessons are one lesson: the same words, and nothing that turns the meaning round.

Likeness of words cannot tell "enable" from "disable", so that alike texts must also agree in what a lesson turns on:
negations, opposites, the order of steps, numbers, flags, names and identifiers, and single words that were exchanged.
Where in doubt two lessons stay two: one too many can be merged by a person later. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from recalld.analyze import Analyzer
from recalld.lessons.opposites import NUMBER_WORDS, OPPOSITES, STOP, SYNONYMS
from recalld.trust.compare import contradictions

ALIKE = 0.7
"""Likeness from which two lessons are one. Chosen on the half ``tune`` of ``tests/data/lessons_pairs.jsonl``."""
NEAR_TITLE = 0.6
"""Titles or checks that are so much the same sequence differ in exchanged words, not in wording."""
_STORY = 0.15
"""What all the words count beside those of the statement."""
_SLOT = 3
_ANALYZER = Analyzer()
_NOT = re.compile(r"(?i)\b(ca|wo|sha|do|does|did|is|are|was|were|has|have|had|should|must|would|could|need)n['’]t\b")
_WORD = re.compile(r"--?[A-Za-z][\w-]*|[\w$@][\w$@./:-]*[\w$]|[\w$]")
_FLAG = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")
_NUMBER = re.compile(r"(?<![\w.-])v?\d+(?:[.,:]\d+)*(?![\w-])|(?<=\w)\d+(?:\.\d+)*")
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?\b")
_TICKED = re.compile(r"`([^`\n]+)`")
_IDENTIFIER = re.compile(
    r"\b(?:\w+[_./:]\w[\w./:]*|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*|[A-Z]{2,}[A-Z0-9_]*|\w+-\w+-\d+)\b|\.\w+"
)
_NAME = re.compile(r"(?<=[\w,;] )[A-Z][\w-]+")
_NEGATIONS = frozenset(
    """
    not no never none nor without cannot avoid avoids avoided forbid forbids forbidden unless except neither
    nicht kein keine nie nunca sin
    """.split()  # noqa: SIM905
)
_ORDER = re.compile(r"(?i)\b(before|after|then|until|instead of|rather than|over|to|into|onto)\b")
_TURNED = frozenset({"after"})
_LIMITS = frozenset({"only", "solely", "exclusively", "nur", "solo"})


@dataclass(frozen=True)
class Said:
    """What a lesson says. ``statement`` is what it comes to: its title and check, or body where it has no check."""

    title: str
    check: str = ""
    body: str = ""

    @cached_property
    def statement(self) -> str:
        """Title and check, one a line; dates left out."""
        return _DATE.sub("", _plain(f"{self.title}.\n{self.check or self.body}."))

    @cached_property
    def folded(self) -> str:
        """All of it, without case, punctuation and spacing."""
        return " ".join(re.findall(r"[^\W_]+", _plain(f"{self.title} {self.check} {self.body}").casefold()))

    @cached_property
    def heads(self) -> frozenset[str]:
        """The stems of its statement."""
        return _stems(self.statement)

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of all its words."""
        return _stems(_plain(f"{self.title} {self.check} {self.body}"))


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
                ("a number", _numbers(first) != _numbers(second)),
                ("a flag", _flags(first) != _flags(second)),
                ("a name", _exclusive(_names(first), _names(second))),
                ("a negation", _unlike(ours, theirs, _sign)),
                ("a limit", _unlike(ours, theirs, _limited)),
                ("an opposite", _opposed(ours, theirs)),
                ("the order of steps", _turned_round(first, second)),
                ("a word", _exchanged(ours.title, theirs.title) or _exchanged(ours.check, theirs.check)),
                ("a statement", _contradicts(ours, theirs)),
            )
            if differs
        ),
        "",
    )


def _plain(text: str) -> str:
    return _NOT.sub(lambda match: f"{_WHOLE.get(match[1].casefold(), match[1])} not", text)


_WHOLE = {"ca": "can", "wo": "will", "sha": "shall"}


def _stems(text: str) -> frozenset[str]:
    words = _ANALYZER.words(text)
    return frozenset(_base(terms[0]) for word, terms in words if terms and word.casefold() not in STOP)


def _base(stem: str) -> str:
    return SYNONYMS.get(stem, stem)


def _dice(ours: frozenset[str], theirs: frozenset[str]) -> float:
    return 2 * len(ours & theirs) / (len(ours) + len(theirs)) if ours and theirs else 0.0


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _numbers(text: str) -> frozenset[str]:
    return frozenset(_NUMBER.findall(text)) | {NUMBER_WORDS[word] for word in _words(text) if word in NUMBER_WORDS}


def _flags(text: str) -> frozenset[str]:
    return frozenset(_FLAG.findall(text))


def _names(text: str) -> frozenset[str]:
    found: Iterable[str] = (*_IDENTIFIER.findall(text), *_NAME.findall(text), *_TICKED.findall(text))
    return frozenset(name.strip("`.").casefold() for name in found if not _FLAG.fullmatch(name))


def _exclusive(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """Tell whether each has something that the other has not."""
    return bool(ours - theirs) and bool(theirs - ours)


def _unlike(ours: Said, theirs: Said, trait: Callable[[str], bool]) -> bool:
    """Tell whether title or check of one has a trait that the other's has not."""
    pairs = ((ours.title, theirs.title), (ours.check, theirs.check))
    return any(first and second and trait(first) != trait(second) for first, second in pairs)


def _limited(text: str) -> bool:
    return not _LIMITS.isdisjoint(_words(text))


def _sign(text: str) -> bool:
    return sum(word in _NEGATIONS for word in _words(_plain(text))) % 2 == 1


def _opposed(ours: Said, theirs: Said) -> bool:
    """Tell whether one has a word where the other has its opposite."""
    for first, second in ((ours.title, theirs.title), (ours.check, theirs.check)):
        mine, yours = _sides(first), _sides(second)
        if any(mine[pair] != yours[pair] for pair in mine.keys() & yours.keys()):
            return True
    return False


def _sides(text: str) -> dict[int, frozenset[int]]:
    found: dict[int, set[int]] = {}
    for word in _words(text):
        for pair, side in OPPOSITES.get(word, ()):
            found.setdefault(pair, set()).add(side)
    return {pair: frozenset(sides) for pair, sides in found.items()}


def _turned_round(first: str, second: str) -> bool:
    """Tell whether what stands on one side of "before" or "instead of" stands on its other side in the second text."""
    for word, left, right in _orders(first):
        for other, other_left, other_right in _orders(second):
            if word != other:
                continue
            both = (left & right) | (other_left & other_right)
            left, right = left - both, right - both
            other_left, other_right = other_left - both, other_right - both
            straight = len(left & other_left) + len(right & other_right)
            to_right, to_left = left & other_right, right & other_left
            if (to_right and to_left) or len(to_right) + len(to_left) > straight:
                return True
    return False


def _orders(text: str) -> Iterator[tuple[str, frozenset[str], frozenset[str]]]:
    """Yield what comes first and what second around each word of order; "after" is read as a turned "before"."""
    for line in re.split(r"[.\n]", text):
        for match in _ORDER.finditer(line):
            word = match[1].casefold()
            left, right = _stems(line[: match.start()]), _stems(line[match.end() :])
            if not left and "," in line:  # "before pushing, run the linter"
                right_text, _, left_text = line[match.end() :].partition(",")
                left, right = _stems(left_text), _stems(right_text)
            yield ("before", right, left) if word in _TURNED else ("before" if word == "then" else word, left, right)


def _exchanged(ours: str, theirs: str) -> bool:
    """Tell whether two lines are the same but for a word or two that mean something else."""
    first, second = _sequence(ours), _sequence(theirs)
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    if not first or not second or matcher.ratio() < NEAR_TITLE:
        return False
    moved = set(first) & set(second)
    for kind, a, b, c, d in matcher.get_opcodes():
        gone, come = set(first[a:b]) - moved, set(second[c:d]) - moved
        if kind == "replace" and gone and come and len(gone) <= _SLOT and len(come) <= _SLOT:
            return True
    return False


def _sequence(text: str) -> Sequence[str]:
    words = _ANALYZER.words(_plain(text))
    left_out = STOP | _NEGATIONS
    return [_base(terms[0]) for word, terms in words if terms and word.casefold() not in left_out]


def _contradicts(ours: Said, theirs: Said) -> bool:
    """Tell whether a sentence of one's story denies one of the other's; numbers in stories are told anew each time."""
    against = contradictions(_plain(ours.body), _plain(theirs.body))
    return any(each.differs == "one says not" for each in against)
