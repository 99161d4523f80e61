"""Two memos side by side: whether one repeats the other, says the opposite, or is on the same matter.

Pure, by words alone: likeness of embeddings cannot tell "the limit is 90" from "the limit is 300", and that is the
difference that matters between a decision and the one that reverses it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST_SENTENCES = 400
"""Sentences of each memo that are compared."""
SAME_STATEMENT = 0.5
"""Share of their content words that two sentences must have in common to speak of the same thing."""
SAME_MATTER = 0.6
"""Share of a title's words from which two memos of one kind are on the same matter."""
LEAST_WORDS = 3
_SHINGLE = 4

_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n\s*\n|\n(?=\s*(?:[-*+]|\d+\.|#|\|))")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NEGATIONS = frozenset(
    """
    not no never none without cannot don doesn didn won isn aren wasn shouldn mustn disable disabled forbid forbidden
    stop nicht kein keine nie nunca sin
    """.split()  # noqa: SIM905
)
_COMMON = frozenset(
    """
    a an and are as at be been but by can do for from had has have i if in into is it its may more must of on one or
    our out per shall should so than that the their them then there these they this to two up us use used was we were
    what when where which who will with you your
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two statements on the same matter that differ in a number or a negation, as they are written."""

    ours: str
    theirs: str
    differs: str


def repeated_share(ours: str, theirs: str) -> float:
    """Return the share of the shorter text's sequences of four words that the other has, 0 to 1."""
    first, second = _shingles(ours), _shingles(theirs)
    return len(first & second) / min(len(first), len(second)) if first and second else 0.0


def shared_matter(ours: str, theirs: str) -> float:
    """Return the share of the content words of the shorter text (a title, say) that the other has, 0 to 1."""
    first, second = set(content_words(ours)), set(content_words(theirs))
    return len(first & second) / min(len(first), len(second)) if first and second else 0.0


def contradictions(ours: str, theirs: str) -> Iterator[Contradiction]:
    """Yield statements of ``ours`` that ``theirs`` makes with another number, or with the opposite sign."""
    others = [(sentence, set(content_words(sentence))) for sentence in _sentences(theirs)]
    for sentence in _sentences(ours):
        words = set(content_words(sentence))
        for other, other_words in others:
            if _same_statement(words, other_words) and (differs := _difference(sentence, other)):
                yield Contradiction(sentence, other, differs)
                break


def _same_statement(ours: set[str], theirs: set[str]) -> bool:
    return len(ours & theirs) >= max(LEAST_WORDS, SAME_STATEMENT * min(len(ours), len(theirs)))


def _difference(ours: str, theirs: str) -> str:
    numbers, others = set(_NUMBER.findall(ours)), set(_NUMBER.findall(theirs))
    if numbers and others and not numbers & others:
        return f"{', '.join(sorted(numbers))} here, {', '.join(sorted(others))} there"
    if numbers == others and _negated(ours) != _negated(theirs):
        return "one says not"
    return ""


def _negated(sentence: str) -> bool:
    return sum(word in _NEGATIONS for word in _words(sentence)) % 2 == 1


def _sentences(text: str) -> list[str]:
    found = (" ".join(part.split()).strip("-*+#| ") for part in _SENTENCE.split(text))
    return [sentence for sentence in found if len(set(content_words(sentence))) >= LEAST_WORDS][:MOST_SENTENCES]


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def content_words(text: str) -> list[str]:
    """Return the words that carry a statement's matter: no numbers, no negations, nothing common, plural or not."""
    return [
        word.removesuffix("s")
        for word in _words(text)
        if len(word) > 2 and word not in _COMMON and word not in _NEGATIONS and not word[0].isdigit()
    ]


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = _words(text)
    return {tuple(words[at : at + _SHINGLE]) for at in range(len(words) - _SHINGLE + 1)}
