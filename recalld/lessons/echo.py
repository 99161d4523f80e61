"""Whether a text was itself recalled a short while ago: what the memory said must not come back as a new lesson. Pure.

A text is an echo where half of its runs of eight words stand in what its author was told.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

RUN = 8
SHARE = 0.5
_WORD = re.compile(r"[^\W_]+")
_RECEIPT = re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")


@dataclass(frozen=True, slots=True)
class Heard:
    """A document that an answer cited, and that answer's receipt."""

    receipt: str
    repo: str
    path: str
    text: str


def echo(parts: Sequence[str], heard: Sequence[Heard]) -> Heard | None:
    """Return the document that most of one of the ``parts`` was taken from; None where none is an echo.

    A part of fewer than eight words is too short to tell.
    """
    runs = [(each, _runs(each.text)) for each in heard]
    for part in parts:
        own = _runs(part)
        known = own & frozenset[tuple[str, ...]]().union(*(theirs for _, theirs in runs))
        if own and len(known) >= SHARE * len(own):
            return max(runs, key=lambda each: len(own & each[1]))[0]
    return None


def receipts_in(text: str) -> list[str]:
    """Return what may be ids of receipts in a text."""
    return list(dict.fromkeys(_RECEIPT.findall(text)))


def _runs(text: str) -> frozenset[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    return frozenset(tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1))
