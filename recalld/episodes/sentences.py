"""Passages in sentences: what an answer quotes, and where a passage that is too long is cut. Pure."""

from __future__ import annotations

import re

_END = re.compile(r"(?<=[.!?])([\"'”’)\]*_`]*)\s+(?=[\"'“‘(\[*_`]*[A-Z0-9À-ÞА-Я一-鿿])|(?<=[。！？])")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|cf|vs|No|Nr|Fig|Dr|Mr|Mrs|Ms|St|approx)\.|\b[A-Z]\.)$")
_LABEL = re.compile(r"(\*\*|__)[^*_]{1,60}\1[.:]?")
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_TURNS = re.compile(
    r"(?i)[\"'“‘(\[*_`]*(?:however|but|yet|except|exceptions?|unless|instead|nevertheless|nonetheless|otherwise|although|"
    r"though|conversely|that said|on the other hand|in contrast|since then|(?:this|that|it)(?: is|'s|’s)? no longer|"
    r"no longer|not any ?more|still(?=,)|only)\b"
)
"""How a sentence begins that takes back some of the one before."""
_RULE = re.compile(r"^\s*(?:[-=*_]{3,}|```.*|~~~.*|\|?[\s:|-]+\|?)\s*$")


def sentences(text: str) -> list[str]:
    """Return the sentences, list items and rows of a passage in order; lines that wrap are joined."""
    found: list[str] = []
    for block in _blocks(text):
        found += _split(block)
    return found


def statements(text: str) -> list[str]:
    """Return the sentences, each with those after it that take some of it back: "but", "unless", "no longer"."""
    found: list[str] = []
    for block in _blocks(text):
        for number, sentence in enumerate(_split(block)):
            if number and _TURNS.match(sentence):
                found[-1] += f" {sentence}"
            else:
                found.append(sentence)
    return found


def pieces(text: str) -> list[str]:
    """Return a passage cut after each of its statements, as it stands: put together again it is the passage, up to its
    last one."""
    places = [place for place, character in enumerate(text) if character.isalnum()]
    letters = "".join(text[place] for place in places)
    found: list[str] = []
    at = seen = 0
    for sentence in statements(text):
        own = "".join(filter(str.isalnum, sentence))
        begins = letters.find(own, seen)
        if not own or begins < 0:
            continue
        seen = begins + len(own)
        ends = places[seen - 1] + 1
        while ends < len(text) and not text[ends].isalnum() and not text[ends].isspace():
            ends += 1
        found.append(text[at:ends])
        at = ends
    return found


def _blocks(text: str) -> list[str]:
    """Return paragraphs, each on one line; a list item, a heading and a row of a table is one of its own."""
    blocks: list[str] = []
    joins = False
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or _RULE.match(line):
            joins = False
            continue
        alone = stripped.startswith(("#", "|")) or _ITEM.match(line) is not None
        if joins and not alone:
            blocks[-1] += f" {stripped}"
        else:
            blocks.append(stripped)
        joins = not stripped.startswith(("#", "|"))
    return blocks


def _split(block: str) -> list[str]:
    """Return the sentences of a block; what only names the next one ("**Why.** Because ...") stays with it."""
    parts: list[str] = []
    at = 0
    for end in [*_END.finditer(block), None]:
        stop = len(block) if end is None else end.end(1) if end[1] else end.start()
        part, at = block[at:stop].strip(), stop
        if parts and (_ABBREVIATION.search(parts[-1]) or _LABEL.fullmatch(parts[-1])):
            parts[-1] += f" {part}"
        elif part:
            parts.append(part)
    return parts


def bare(sentence: str) -> str:
    """Return a sentence without the marks of a heading or a list item."""
    return _ITEM.sub("", sentence).lstrip("#").strip()
