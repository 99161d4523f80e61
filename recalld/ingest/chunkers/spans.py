"""Where a text may be cut: at lines, sentences, words, and at last anywhere. All spans are character offsets."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

Span = tuple[int, int]

_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]{0,3}\s+|[。！？]")
_ENDS_SENTENCE = re.compile(r"[.!?…:;。！？][\"'”’)\]*_`]{0,4}$")
_SPACE = re.compile(r"\s+")


def ends_sentence(text: str) -> bool:
    """Tell whether a line ends where a sentence does."""
    return _ENDS_SENTENCE.search(text[-8:].rstrip()) is not None


def sentences(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the sentences of a span, without the white space between them."""
    at = start
    for match in _SENTENCE_END.finditer(text, start, end):
        yield from _tight(text, at, match.end())
        at = match.end()
    yield from _tight(text, at, end)


def within(text: str, start: int, end: int, most: int) -> Iterator[Span]:
    """Yield pieces of at most ``most`` characters: whole words as far as they fit, else cut anywhere.

    Never cuts a base character from the marks that follow it, unless there is no other way.
    """
    at = start
    while end - at > most:
        cut = text.rfind(" ", at + 1, at + most + 1)
        if cut <= at:
            cut = _any_space(text, at, at + most)
        if cut <= at:
            cut = _unmarked(text, at, at + most)
        yield from _tight(text, at, cut)
        at = cut
    yield from _tight(text, at, end)


def pieces(text: str, start: int, end: int, most: int) -> Iterator[Span]:
    """Yield the sentences of a span; those longer than ``most`` characters in pieces of whole words."""
    for first, last in sentences(text, start, end):
        if last - first <= most:
            yield first, last
        else:
            yield from within(text, first, last, max(1, most // 3))


def smaller(text: str, start: int, end: int, most: int) -> list[Span]:
    """Return a span of more than one character in at least two pieces: lines, else sentences, words, or any pieces."""
    found = list(_lines(text, start, end, most)) if "\n" in text[start:end] else list(pieces(text, start, end, most))
    return found if len(found) > 1 else list(within(text, start, end, min(most, end - start - 1)))


def _lines(text: str, start: int, end: int, most: int) -> Iterator[Span]:
    """Yield whole lines, as many together as ``most`` characters hold."""
    begun, at = start, start
    while at < end:
        newline = text.find("\n", at, end)
        behind = end if newline < 0 else newline
        if begun < at and behind - begun > most:
            yield from _tight(text, begun, at)
            begun = at
        at = behind + 1
    yield from _tight(text, begun, end)


def _tight(text: str, start: int, end: int) -> Iterator[Span]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end


def _any_space(text: str, start: int, end: int) -> int:
    found = -1
    for match in _SPACE.finditer(text, start + 1, end):
        found = match.start()
    return found


def _unmarked(text: str, start: int, end: int) -> int:
    cut = end
    while cut > start + 1 and end - cut < 8 and not text[cut].isascii() and _joins(text[cut]):
        cut -= 1
    return cut


def _joins(char: str) -> bool:
    return unicodedata.category(char) in ("Mn", "Mc", "Me") or char in "\u200d\ufe0f"
