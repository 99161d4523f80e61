"""What an answer is made of: the best passages, without those that repeat a better one.

A passage is a repetition when it says nothing that a better one does not: its text is the same, or its words stand
in the other word for word (case, markup and punctuation apart), or it is mostly the same lines of the same document.
A few words ("Accepted.") say something else under each heading, so they repeat only what is under the same one.
Likeness alone is no reason: two near-copies that differ in one value ("ttl is 5 minutes", "ttl is 10 minutes") are
what a memory must show side by side, and an embedding hardly tells them apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from recalld.model import StoredChunk
from recalld.recall.ports import Owner

_WORD = re.compile(r"[^\W_]+")
_SHINGLE = 4
_OVERLAP = 0.5
"""Share of the shorter passage's word sequences that make two overlapping passages of one document one too many."""
_SELF_CONTAINED = 12
"""A passage of so many words means the same wherever it stands."""


def repeated_hashes(ordered: Sequence[int], owners: Mapping[int, Owner]) -> dict[int, str]:
    """Return the chunks whose text (with its context) a better one has to the letter, each with the reason."""
    first: dict[str, int] = {}
    dropped: dict[int, str] = {}
    for chunk in ordered:
        seen = first.setdefault(owners[chunk].hash, chunk)
        if seen != chunk:
            dropped[chunk] = f"same text as {seen}"
    return dropped


class Context:
    """The passages of one answer: at most ``size``, offered best first, none a repetition of a better one."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: list[_Passage] = []

    @property
    def room(self) -> int:
        """How many more passages fit."""
        return self._size - len(self._kept)

    def offer(self, chunk: StoredChunk) -> str | None:
        """Take ``chunk`` and return None, or return which passage it repeats. Only to be called while there is room."""
        passage = _Passage.of(chunk)
        for kept in self._kept:
            reason = _repeats(passage, kept)
            if reason is not None:
                return reason
        self._kept.append(passage)
        return None


@dataclass(frozen=True, slots=True)
class _Passage:
    """A chunk, its words, and the words that say what it is about: title and headings."""

    chunk: StoredChunk
    words: str
    about: str

    @classmethod
    def of(cls, chunk: StoredChunk) -> Self:
        return cls(chunk, _normal(chunk.text), _normal(" ".join((chunk.title, *chunk.heading))))


def _normal(text: str) -> str:
    """Reduce a text to its lower-case words, each between spaces."""
    return f" {' '.join(_WORD.findall(text.lower()))} "


def _repeats(passage: _Passage, kept: _Passage) -> str | None:
    speaks_for_itself = passage.words.count(" ") > _SELF_CONTAINED or passage.about == kept.about
    if passage.words in kept.words and speaks_for_itself:
        return f"its words stand in {kept.chunk.id}"
    if _share_lines(passage.chunk, kept.chunk) and _shared(passage.words, kept.words) >= _OVERLAP:
        return f"overlaps {kept.chunk.id}"
    return None


def _share_lines(a: StoredChunk, b: StoredChunk) -> bool:
    return a.document_id == b.document_id and a.lines[0] <= b.lines[1] and b.lines[0] <= a.lines[1]


def _shared(a: str, b: str) -> float:
    """Return the share of the shorter text's word sequences that the other has."""
    first, second = _shingles(a), _shingles(b)
    return len(first & second) / min(len(first), len(second))


def _shingles(normal: str) -> set[tuple[str, ...]]:
    words = normal.split()
    return {tuple(words[at : at + _SHINGLE]) for at in range(max(1, len(words) - _SHINGLE + 1))}
