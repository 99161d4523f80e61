"""What two texts that sound alike must agree in: negation, opposites, the order of steps, numbers, flags and names.

Likeness of words cannot tell "enable" from "disable", nor can an embedding: in a sentence of ten words one that turns
the meaning round weighs a tenth. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from recalld.analyze import Analyzer
from recalld.opposites import NUMBER_WORDS, OPPOSITES, STOP, SYNONYMS

_ANALYZER = Analyzer()
_NOT = re.compile(
    r"(?i)\b(ca|wo|sha|do|does|did|is|are|was|were|has|have|had|should|must|would|could|need|may)n['’]t\b"
)
_WHOLE = {"ca": "can", "wo": "will", "sha": "shall"}
_WORD = re.compile(r"--?[A-Za-z][\w-]*|[\w$@][\w$@./:-]*[\w$]|[\w$]")
_FLAG = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")
_NUMBER = re.compile(r"(?<![\w.-])v?\d+(?:[.,:]\d+)*(?![\w-])|(?<=\w)\d+(?:\.\d+)*")
_TICKED = re.compile(r"`([^`\n]+)`")
_IDENTIFIER = re.compile(
    r"\b(?:\w+[_./:]\w[\w./:]*|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*|[A-Z]{2,}[A-Z0-9_]*|\w+-\w+-\d+)\b|\.\w+"
)
_NAME = re.compile(r"(?<=[\w,;] )[A-Z][\w-]+")
NEGATIONS = frozenset(
    """
    not no never none nor without cannot avoid avoids avoided forbid forbids forbidden unless except neither
    nicht kein keine nie nunca sin
    """.split()  # noqa: SIM905
)
_ORDER = re.compile(r"(?i)\b(before|after|then|until|instead of|rather than|over|to|into|onto)\b")
_TURNED = frozenset({"after"})
_LIMITS = frozenset({"only", "solely", "exclusively", "nur", "solo"})


def plain(text: str) -> str:
    """Write "don't" as "do not"."""
    return _NOT.sub(lambda match: f"{_WHOLE.get(match[1].casefold(), match[1])} not", text)


def words(text: str) -> list[str]:
    """Return the words of a text in lower case; flags, paths and identifiers are one word each."""
    return [word.casefold() for word in _WORD.findall(text)]


def stem(word_stem: str) -> str:
    """Return the stem that stands for all that mean the same."""
    return SYNONYMS.get(word_stem, word_stem)


def stems(text: str) -> frozenset[str]:
    """Return the stems of the words that carry something."""
    found = _ANALYZER.words(text)
    return frozenset(stem(terms[0]) for word, terms in found if terms and word.casefold() not in STOP)


def sequence(text: str) -> list[str]:
    """Return the stems of a text in order, without small words and negations."""
    left_out = STOP | NEGATIONS
    return [stem(terms[0]) for word, terms in _ANALYZER.words(plain(text)) if terms and word.casefold() not in left_out]


def numbers(text: str) -> frozenset[str]:
    """Return the numbers in a text; those in words as figures."""
    return frozenset(_NUMBER.findall(text)) | {NUMBER_WORDS[word] for word in words(text) if word in NUMBER_WORDS}


def flags(text: str) -> frozenset[str]:
    """Return the command-line flags in a text."""
    return frozenset(_FLAG.findall(text))


def names(text: str) -> frozenset[str]:
    """Return what is a name or an identifier by its looks, in lower case."""
    found: Iterable[str] = (*_IDENTIFIER.findall(text), *_NAME.findall(text), *_TICKED.findall(text))
    return frozenset(name.strip("`.").casefold() for name in found if not _FLAG.fullmatch(name))


def denies(text: str) -> bool:
    """Tell whether a text says that something is not so; twice not is so."""
    return sum(word in NEGATIONS for word in words(plain(text))) % 2 == 1


def limits(text: str) -> bool:
    """Tell whether a text says "only"."""
    return not _LIMITS.isdisjoint(words(text))


def opposed(first: str, second: str) -> bool:
    """Tell whether one has a word where the other has its opposite."""
    mine, yours = _sides(first), _sides(second)
    return any(mine[pair] != yours[pair] for pair in mine.keys() & yours.keys())


def _sides(text: str) -> dict[int, frozenset[int]]:
    found: dict[int, set[int]] = {}
    for word in words(text):
        for pair, side in OPPOSITES.get(word, ()):
            found.setdefault(pair, set()).add(side)
    return {pair: frozenset(sides) for pair, sides in found.items()}


def turned_round(first: str, second: str) -> bool:
    """Tell whether what stands on one side of "before" or "instead of" stands on its other side in the second text."""
    others = list(_orders(second))
    for word, left, right in _orders(first):
        for other, other_left, other_right in others:
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
            left, right = stems(line[: match.start()]), stems(line[match.end() :])
            if not left and "," in line:  # "before pushing, run the linter"
                right_text, _, left_text = line[match.end() :].partition(",")
                left, right = stems(left_text), stems(right_text)
            yield ("before", right, left) if word in _TURNED else ("before" if word == "then" else word, left, right)
