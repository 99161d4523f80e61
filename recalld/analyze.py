"""The lexical analyzer: what a text's terms are, for chunks and for queries alike.

Identifiers count whole and split: ``ADR-007`` is the terms ``adr7``, ``adr`` and ``7``, and so is ``adr_7``;
``readTimeout``, ``read_timeout`` and ``read-timeout`` are all ``readtimeout``, ``read`` and ``timeout``. Between two
numbers the separator stays (``3.11``). Words are NFKC, casefolded, without accents on Latin letters, and stemmed by
English Snowball; scripts written without spaces become pairs of characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise

from py_rust_stemmers import SnowballStemmer  # type: ignore[import-untyped]

from recalld.model import Postings

TITLE_WEIGHT = 2.0
HEADING_WEIGHT = 1.0
PATH_WEIGHT = 1.0
"""What one occurrence in a field counts against one in the text."""

MAX_IDENTIFIER = 96
"""Longer runs (URLs, encoded data) count by their parts only, in characters."""
MAX_WORD = 48
"""Longer words are cut: no one types them, in characters."""
MAX_WORDS = 16
"""Words of one path or dotted name whose neighbours are joined."""
MAX_UNJOINED_PARTS = 4
"""A run of letters and digits that changes between them more often is a hash or key: it has no parts."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOPWORDS = _words(
    """
    a about am an and any are as at be been being but by can could did do does doing for from had has have having
    he her here hers him his how i if in into is it its itself just me my of on or our ours she should so some
    such than that the their theirs them then there these they this those to too us was we were what when where
    which while who whom why will with would you your yours
    """
)
"""Left out of queries that have other words."""


def _marks() -> str:
    """Return the combining marks, which Python's \\w leaves out, as the inside of a regex class."""
    points = [point for point in range(0x300, 0x10000) if unicodedata.category(chr(point)) in ("Mn", "Mc")]
    ranges: list[list[int]] = []
    for point in points:
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1][1] = point
        else:
            ranges.append([point, point])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


_JOINT = r"(?:::|__|[-_./:@&+#])"
_NAMES_OF_LANGUAGES = r"(?<![A-Za-z0-9_])[A-Za-z](?:\+\+|#)(?![A-Za-z0-9_])"
_ASCII = re.compile(rf"{_NAMES_OF_LANGUAGES}|[A-Za-z0-9]+(?:{_JOINT}[A-Za-z0-9]+)*")
_LETTER = rf"(?:[^\W_]|[{_marks()}])"
_ANY = re.compile(rf"{_NAMES_OF_LANGUAGES}|{_LETTER}+(?:{_JOINT}{_LETTER}+)*")
_SEPARATOR = re.compile(r"[-_./:@&+#]+")
_PLAIN = re.compile(r"[a-z]+")
_PARTS = re.compile(r"\d+|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[^\W\d_a-zA-Z]+", re.UNICODE)
_APOSTROPHES = re.compile(r"(?<=[^\W\d_])['\u2019\u02bc](?:s\b)?(?=\w|\b)")
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\ufe0e\ufe0f"))
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003134f]+"
)
_ACCENTS = re.compile("[\u0300-\u036f]")

_stem = lru_cache(maxsize=100_000)(SnowballStemmer("english").stem_word)


def _normalised(text: str) -> str:
    """Return text in compatibility form without characters that no one sees or types."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", text.translate(_INVISIBLE))


def _runs(text: str) -> list[str]:
    """Return the words and identifiers of a text as they stand in it."""
    text = _normalised(text)
    if "'" in text or "\u2019" in text or "\u02bc" in text:
        text = _APOSTROPHES.sub("", text)
    return (_ASCII if text.isascii() else _ANY).findall(text)


@lru_cache(maxsize=200_000)
def _terms(run: str) -> tuple[str, ...]:
    """Return the terms of one word or identifier, each once: the whole, its neighbouring words joined, its parts."""
    if run.islower() and run.isascii() and run.isalpha():
        return (_word(run),)
    if run[-1] in "+#":
        return (run.casefold(),)
    words = [_parts_of(word) for word in _SEPARATOR.split(run) if word]
    parts = [part for word in words for part in word]
    found = [_joined(parts)] if len(run) <= MAX_IDENTIFIER else []
    if len(words) > 2:
        found += [_joined([*one, *other]) for one, other in pairwise(words[:MAX_WORDS])]
    if len(parts) > 1:
        found += [_folded(part) for part in parts if len(part) > 1 or not part.isascii() or part.isdigit()]
    return tuple(dict.fromkeys(term for term in _with_pairs(found) if term))


def _parts_of(word: str) -> list[str]:
    """Split a word where case or the kind of character changes; a hash or key stays whole."""
    if not word:
        return []
    parts = _PARTS.findall(word) if word.isascii() else _unicode_parts(word)
    return parts if 0 < len(parts) <= MAX_UNJOINED_PARTS else [word]


def _unicode_parts(word: str) -> list[str]:
    parts: list[str] = []
    for match in re.finditer(r"\d+|\D+", word):
        parts.extend(_spaced(match.group()))
    return parts


def _spaced(word: str) -> list[str]:
    """Separate what is written with spaces from what is not: ``Postgres数据库`` is two words."""
    found, at = [], 0
    for match in _UNSPACED.finditer(word):
        found += [word[at : match.start()], match.group()]
        at = match.end()
    return [part for part in (*found, word[at:]) if part]


def _are_words(*runs: str) -> bool:
    return all(run.isascii() and run.isalpha() and run.casefold() not in STOPWORDS for run in runs)


def _joined(parts: Sequence[str]) -> str:
    """Return parts as one term, a dot between numbers; words of letters only are stemmed."""
    text, digits = "", False
    for part in parts:
        number = part.isdigit()
        text += f".{_number(part)}" if digits and number else _number(part) if number else part
        digits = number
    return _folded(text)


def _number(part: str) -> str:
    return part.lstrip("0") or "0"


def _folded(part: str) -> str:
    if part.isdigit():
        return _number(part)
    part = part.casefold()
    return _word(part) if part.isascii() else _word(_without_accents(part))


def _word(word: str) -> str:
    word = word[:MAX_WORD]
    return _stem(word) if _PLAIN.fullmatch(word) else word


def _without_accents(word: str) -> str:
    if not any("a" <= char <= "z" for char in unicodedata.normalize("NFKD", word)):
        return word
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", word)))


def _with_pairs(terms: Iterable[str]) -> Iterable[str]:
    """Replace runs of scripts without spaces by their overlapping pairs of characters."""
    for term in terms:
        if term.isascii() or not _UNSPACED.search(term):
            yield term
            continue
        for run in _UNSPACED.findall(term):
            yield from (run[at : at + 2] for at in range(max(1, len(run) - 1)))


class Analyzer:
    """Turns chunks and queries into terms. Pure: equal versions give equal terms for equal text."""

    VERSION = 1

    def document(self, title: str, path: str, heading: Sequence[str], text: str) -> Postings:
        """Return a chunk's weighted term frequencies over its text, headings, title and path, and their sum.

        A heading that repeats the title counts once.
        """
        frequencies: dict[str, float] = {}
        _count(frequencies, text, 1.0)
        _count(frequencies, " ".join(part for part in heading if part != title), HEADING_WEIGHT)
        _count(frequencies, title, TITLE_WEIGHT)
        _count(frequencies, path, PATH_WEIGHT)
        return Postings(frequencies, sum(frequencies.values()))

    def words(self, text: str) -> list[tuple[str, tuple[str, ...]]]:
        """Return the words and identifiers of a text that are no stopwords, each once, with their terms."""
        telling = dict.fromkeys(run for run in _runs(text) if run.casefold() not in STOPWORDS)
        return [(run, _terms(run)) for run in telling]

    def pairs(self, text: str) -> list[tuple[str, str]]:
        """Return each two neighbouring words once, with the term of the identifier that they would be as one.

        ``create index`` is found in ``create_index`` this way.
        """
        runs = _runs(text)
        neighbours = dict.fromkeys((one, other) for one, other in pairwise(runs) if _are_words(one, other))
        return [(f"{one} {other}", _joined([one.casefold(), other.casefold()])) for one, other in neighbours]

    def query(self, text: str) -> list[str]:
        """Return a query's terms, each once, in the order they stand.

        Stopwords go, unless nothing else would be left.
        """
        runs = _runs(text)
        telling = [run for run in runs if run.casefold() not in STOPWORDS]
        return list(dict.fromkeys(term for run in telling or runs for term in _terms(run)))


def _count(frequencies: dict[str, float], text: str, weight: float) -> None:
    for run, count in Counter(_runs(text)).items():
        for term in _terms(run):
            frequencies[term] = frequencies.get(term, 0.0) + weight * count
