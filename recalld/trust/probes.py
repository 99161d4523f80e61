"""Probe questions: what a memory is asked to learn how sure it may be, without anyone labelling anything.

Answerable ones are taken from the indexed passages: titles, headings, sentences. Unanswerable ones are a bank of
questions on subjects that notes on engineering do not cover, shipped in ``recalld/data/offtopic.json``.

A question whose source is left out of the answer is no third kind. Measured on two corpora, most such questions are
answered by other documents, and score like questions that people ask: they would teach to refuse what is known.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from itertools import chain, zip_longest

MIN_NAME_WORDS, MIN_SENTENCE_WORDS, MAX_WORDS = 3, 6, 30
"""A shorter name ("Overview") asks nothing, a shorter sentence says little; what is longer is neither."""
MIN_PROSE = 0.85
"""Least share of letters and blanks in a sentence: below it is code, a table, or a list of figures."""

_MARKUP = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)|[*_`]{1,3}|</?\w[^<>]*>")
_CODE = re.compile(r"^\s{0,3}(```|~~~).*?(?:^\s{0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
_NO_PROSE = re.compile(r"^(?:\s{4}|\t|\s*[|>#=~:$]|---|[\w-]+:(?:\s|$)).*$", re.MULTILINE)
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*+]|\d+[.)])\s)")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\d\"'(])")
_NUMBER = re.compile(r"^(?:(?:[A-Z]{2,8}[ -]?)?\d+\s*[:.)–—-]+|\d+(?:\.\d+)+\.?)\s+")
_WORD = re.compile(r"\w+")


class Origin(StrEnum):
    """Where a probe comes from."""

    NAME = "name"
    SENTENCE = "sentence"
    BANK = "bank"
    LABEL = "label"


@dataclass(frozen=True, slots=True)
class Probe:
    """A question with what is believed of it. ``subject`` is the path it was taken from, or what it is about."""

    query: str
    answerable: bool
    origin: Origin
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """A stored chunk to take probes from: where it stands, the names above it, and its text."""

    path: str
    title: str
    heading: tuple[str, ...]
    text: str


def bank() -> list[Probe]:
    """Return the shipped unanswerable questions: the first of each subject, then the second of each, and so on."""
    data = json.loads((resources.files("recalld.data") / "offtopic.json").read_text("utf-8"))
    return _interleaved(
        [Probe(question, False, Origin.BANK, subject) for question in questions]
        for subject, questions in data["subjects"].items()
    )


def answerable(passages: Sequence[Passage], rng: random.Random, limit: int) -> list[Probe]:
    """Return at most ``limit`` probes that the passages answer, names and sentences in turn.

    No question is there twice, and no document gives a second name or sentence before each has given its first.
    """
    shuffled = rng.sample(passages, len(passages))
    names = _by_document(shuffled, Origin.NAME, _names)
    sentences = _by_document(shuffled, Origin.SENTENCE, lambda passage: _some_sentence(passage, rng))
    return list(_distinct(_interleaved([names, sentences])))[:limit]


def _by_document(passages: Sequence[Passage], origin: Origin, texts: Callable[[Passage], Iterable[str]]) -> list[Probe]:
    columns: dict[str, list[Probe]] = {}
    for passage in passages:
        column = columns.setdefault(passage.path, [])
        column += [Probe(text, True, origin, passage.path) for text in texts(passage)]
    return _interleaved(list(_distinct(column)) for column in columns.values())


def _names(passage: Passage) -> Iterator[str]:
    """Yield the title and the headings that say what they are about, without their numbers."""
    for name in (passage.title, *passage.heading):
        plain = _NUMBER.sub("", _plain(name))
        if MIN_NAME_WORDS <= len(_WORD.findall(plain)) <= MAX_WORDS and _is_prose(plain):
            yield plain


def _some_sentence(passage: Passage, rng: random.Random) -> list[str]:
    found = list(sentences(passage.text))
    return [rng.choice(found)] if found else []


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a markdown passage; code, tables, quotations, headings and metadata are left out."""
    prose = _NO_PROSE.sub("", _CODE.sub("", text))
    for paragraph in _PARAGRAPH.split(prose):
        for sentence in _SENTENCE.split(_plain(_ITEM.sub("", paragraph))):
            if MIN_SENTENCE_WORDS <= len(_WORD.findall(sentence)) <= MAX_WORDS and _is_prose(sentence):
                yield sentence


def _plain(text: str) -> str:
    return " ".join(_MARKUP.sub(r"\1", text).split())


def _is_prose(text: str) -> bool:
    return "://" not in text and sum(char.isalpha() or char == " " for char in text) >= MIN_PROSE * len(text)


def _interleaved(columns: Iterable[Sequence[Probe]]) -> list[Probe]:
    """Return the first of each column, then the second of each, and so on."""
    return [probe for probe in chain.from_iterable(zip_longest(*columns)) if probe is not None]


def _distinct(probes: Iterable[Probe]) -> Iterator[Probe]:
    seen: set[str] = set()
    for probe in probes:
        key = probe.query.casefold()
        if key not in seen:
            seen.add(key)
            yield probe
