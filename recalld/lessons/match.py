"""Which guardrails apply to an act: words weighed by how rare they are among guardrails, and a gate that keeps the rest
silent. Pure, and quick: words lead to guardrails through an index that is made once.

A guardrail fires where it shares enough distinctive words with the act. A word that many guardrails have is none; one
that stands in a guardrail's title, check or tags counts twice what it counts in its text; one that no other guardrail
has counts 1, whatever the number of guardrails. Harmless acts are never matched (:mod:`recalld.lessons.act`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pathspec import GitIgnoreSpec

from recalld.analyze import Analyzer
from recalld.lessons.act import is_harmless, is_local
from recalld.lessons.generic import GENERIC
from recalld.lessons.guardrail import Action, Guardrail
from recalld.settings import LessonSettings

_ASKED = re.compile(r"(?<![\w-])(?<!no )(?<!without )(?<!than )--[a-z][\w-]+")
"""An option that a check names: an act that has it does what the check asks for."""
_Word = tuple[str, list[str]]
"""A word of an act, and its terms that tell something."""
_GLOB = re.compile(r"[/*.]")
"""What a scope that speaks of files has, and one that speaks of teams or subjects has not."""


LIKE = 0.35
"""A cosine that says nothing for or against a guardrail."""
BLENDED_SHARED = 2


@dataclass(frozen=True, slots=True)
class Gate:
    """What it takes to fire. The defaults were chosen on the half ``tune`` of ``tests/data/preflight``.

    ``shared`` distinctive words at least, ``weight`` of them together, none of which more than ``common`` of all
    guardrails have (or two of them, where there are few); a word of the ``text`` alone counts so much, less in a text
    that is longer than most by BM25's ``length`` normalisation, and each word of an act that says that it is ``local``
    so much. At most ``most`` guardrails are told of.

    Where cosines of sentence embeddings are given, each adds ``blend`` times what it has above ``LIKE``, and two shared
    words do: so much more of differently worded acts is found at the same silence (docs/preflight.md).
    """

    shared: int = 3
    weight: float = 1.9
    common: float = 0.15
    text: float = 0.85
    length: float = 0.75
    local: float = 0.6
    most: int = 3
    blend: float = 0.0


def gate_of(settings: LessonSettings) -> Gate:
    """Return the gate that the settings say."""
    return Gate(
        settings.shared_words, settings.weight, settings.common_share, settings.text_weight, settings.length_share,
        settings.local_weight, settings.most, settings.blend,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Firing:
    """A guardrail that applies, the act's words that it shares, weightiest first, and how sure that is (0 to 1)."""

    guardrail: Guardrail
    shared: tuple[str, ...]
    confidence: float


@dataclass(frozen=True, slots=True)
class Prepared:
    """A guardrail with its terms: those of its title, check and tags, and those of its text."""

    guardrail: Guardrail
    head: frozenset[str]
    text: frozenset[str]


def prepare(guardrail: Guardrail, analyzer: Analyzer | None = None) -> Prepared:
    """Analyze a guardrail, once for all the matchers that it will be in."""
    analyzer = analyzer or Analyzer()
    head = f"{guardrail.title}\n{guardrail.check}\n{' '.join(guardrail.tags)}"
    return Prepared(guardrail, _terms(analyzer, head), _terms(analyzer, guardrail.text))


@dataclass(frozen=True, slots=True)
class _Posting:
    """The guardrails that have a term, by number in rising order, and what it weighs in each."""

    numbers: NDArray[np.int32]
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, found: Sequence[tuple[int, float]]) -> _Posting:
        return cls(np.array([number for number, _ in found], np.int32), np.array([weight for _, weight in found]))


class Matcher:
    """The guardrails of one memory, ready to be matched with acts; of two that fit alike the first comes first."""

    def __init__(self, guardrails: Sequence[Guardrail | Prepared], gate: Gate | None = None) -> None:
        self._gate = gate or Gate()
        self._analyzer = Analyzer()
        ready = [one if isinstance(one, Prepared) else prepare(one, self._analyzer) for one in guardrails]
        self._guardrails = [one.guardrail for one in ready]
        self._weights = np.array([one.weight for one in self._guardrails])
        self._postings = self._index(ready)

    def __len__(self) -> int:
        return len(self._guardrails)

    @property
    def guardrails(self) -> Sequence[Guardrail]:
        """The guardrails, in the order of their cosines."""
        return self._guardrails

    def match(self, action: Action, cosines: NDArray[np.float32] | None = None) -> list[Firing]:
        """Return the guardrails that apply to an act, surest first; none for one that can do no harm.

        ``cosines`` are of the act with each guardrail, in their order, where the gate blends them in.
        """
        if is_harmless(action):
            return []
        nudges = np.zeros(len(self))
        if cosines is not None:
            nudges += self._gate.blend * (cosines - LIKE)
        least = self._gate.shared if cosines is None else BLENDED_SHARED
        words = list(_words(self._analyzer, action.words))
        reach = self._gate.local if is_local(action) else 1.0
        candidates = self._candidates(words, reach, least, nudges)
        fired = (self._firing(number, words, reach, least, float(nudges[number])) for number in candidates)
        applying = [one for one in fired if one is not None and _concerns(one.guardrail, action)]
        return sorted(applying, key=lambda one: -one.confidence)[: self._gate.most]

    def _candidates(self, words: Sequence[_Word], reach: float, least: int, nudges: NDArray[np.float64]) -> list[int]:
        """Return the guardrails that may fire: by all words, whether or not two of them share the same term."""
        totals, counts = np.zeros(len(self)), np.zeros(len(self), np.int32)
        for _, terms in words:
            found = [self._postings[term] for term in terms if term in self._postings]
            if len(found) == 1:
                totals[found[0].numbers] += found[0].weights
                counts[found[0].numbers] += 1
            elif found:
                best = np.zeros(len(self))
                for posting in found:
                    best[posting.numbers] = np.maximum(best[posting.numbers], posting.weights)
                totals += best
                counts += best > 0
        enough = (counts >= least) & (reach * self._weights * totals + nudges >= self._gate.weight)
        return [int(number) for number in np.flatnonzero(enough)]

    def _firing(self, number: int, words: Sequence[_Word], reach: float, least: int, nudge: float) -> Firing | None:
        """Return a candidate with the words that it shares, each term once; None where they weigh too little."""
        shared: dict[str, tuple[float, str]] = {}
        for word, terms in words:
            weights = {term: weight for term in terms if (weight := self._weight(term, number))}
            if weights:
                term = max(weights, key=weights.__getitem__)
                shared.setdefault(term, (weights[term], word))
        gate, guardrail = self._gate, self._guardrails[number]
        total = reach * guardrail.weight * sum(weight for weight, _ in shared.values()) + nudge
        if len(shared) < least or total < gate.weight:
            return None
        told = tuple(word for _, word in sorted(shared.values(), key=lambda one: -one[0]))
        return Firing(guardrail, told, total / (total + gate.weight))

    def _weight(self, term: str, number: int) -> float:
        posting = self._postings.get(term)
        if posting is None:
            return 0.0
        place = int(np.searchsorted(posting.numbers, number))
        found = place < len(posting.numbers) and posting.numbers[place] == number
        return float(posting.weights[place]) if found else 0.0

    def _index(self, ready: Sequence[Prepared]) -> dict[str, _Posting]:
        frequency = Counter(term for one in ready for term in one.head | one.text)
        count = len(ready)
        limit = max(2.0, self._gate.common * count)
        mean = sum(len(one.text) for one in ready) / max(count, 1)
        postings: dict[str, list[tuple[int, float]]] = {}
        for number, one in enumerate(ready):
            in_text = self._gate.text * self._brevity(len(one.text), mean)
            for term in one.head | one.text:
                if frequency[term] <= limit:
                    weight = _rarity(frequency[term], count) * (1.0 if term in one.head else in_text)
                    postings.setdefault(term, []).append((number, weight))
        return {term: _Posting.of(found) for term, found in postings.items()}

    def _brevity(self, length: int, mean: float) -> float:
        """Return what the words of a text count by its length: all, up to the mean, and less beyond it."""
        share = self._gate.length
        return min(1.0, 1 / (1 - share + share * length / mean)) if mean else 1.0


def _terms(analyzer: Analyzer, text: str) -> frozenset[str]:
    return frozenset(term for _, terms in _words(analyzer, text) for term in terms)


def _words(analyzer: Analyzer, text: str) -> Iterator[_Word]:
    """Yield a text's words, and its pairs of neighbouring ones, with the terms that tell something."""
    for word, terms in analyzer.words(text):
        if telling := [term for term in terms if term not in GENERIC]:
            yield word, telling
    for phrase, term in analyzer.pairs(text):
        yield phrase, [term]


def _rarity(frequency: int, count: int) -> float:
    """Return BM25's inverse document frequency as a share of what a term of one guardrail has."""

    def idf(times: int) -> float:
        return math.log(1 + (count - times + 0.5) / (times + 0.5))

    return idf(frequency) / idf(1)


def _concerns(guardrail: Guardrail, action: Action) -> bool:
    """Tell whether the act's file is in the guardrail's scope, and the act has not what is asked for already."""
    words = action.words
    asked = (*guardrail.unless, *_ASKED.findall(guardrail.check))
    return not any(word in words for word in asked) and _in_scope(guardrail, action)


def _in_scope(guardrail: Guardrail, action: Action) -> bool:
    """Tell whether the act's file is one that the guardrail is about; what names no file may be about any."""
    globs = [glob for glob in guardrail.scope if _GLOB.search(glob)]
    return not globs or not action.path or GitIgnoreSpec.from_lines(globs).match_file(action.path)
