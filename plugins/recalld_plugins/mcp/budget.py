"""How much a tool may say: an estimate of tokens, and replies cut until they fit, with what was left out.

The estimate knows no model's vocabulary. A token is four letters of a word, two digits, a line end, or any other
character: more than the vocabularies of today need for prose and for JSON.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from recalld.bus import wire

LEAST, MOST = 1_000, 100_000
"""Tokens that a call may ask for."""

R = TypeVar("R", bound=wire.Reply)
_PIECES = re.compile(r"[a-zA-Z]{1,4}|[0-9]{1,2}|\n|[^\S\n]{8}|[^a-zA-Z0-9\s]")


def tokens(text: str) -> int:
    """Return how many tokens a text is, rather too many than too few."""
    return len(_PIECES.findall(text))


@dataclass(frozen=True, slots=True)
class Cut(Generic[R]):
    """A way to make a reply smaller: down to ``least`` of ``size``. ``unit`` names what is left out."""

    unit: str
    size: Callable[[R], int]
    to: Callable[[R, int], R]
    least: int = 0


def items(field: str, *, least: int = 0) -> Cut[Any]:
    """Leave out the last ones of a field with many."""
    return Cut(
        field,
        lambda reply: len(getattr(reply, field) or ()),
        lambda reply, count: reply.model_copy(update={field: getattr(reply, field)[:count]}),
        least,
    )


def inside(field: str, cut: Cut[Any]) -> Cut[Any]:
    """Cut each item of a field."""
    return Cut(
        f"{cut.unit} of each of {field}",
        lambda reply: max(map(cut.size, getattr(reply, field)), default=0),
        lambda reply, count: reply.model_copy(
            update={field: tuple(cut.to(item, min(count, cut.size(item))) for item in getattr(reply, field))}
        ),
        cut.least,
    )


def characters(field: str) -> Cut[Any]:
    """Cut the end off a text."""
    return Cut(
        f"characters of {field}",
        lambda reply: len(getattr(reply, field)),
        lambda reply, count: reply.model_copy(update={field: getattr(reply, field)[:count]}),
    )


@dataclass(frozen=True, slots=True)
class Fitted(Generic[R]):
    """A reply that fits, and what was left out of it, in words."""

    reply: R
    left_out: tuple[str, ...] = ()


def fit(reply: R, cuts: Sequence[Cut[R]], fits: Callable[[Fitted[R]], bool]) -> Fitted[R]:
    """Cut a reply, by one way after the other, until it fits; where none is left, return the smallest.

    Of each way no more is cut than must be: the larger a reply, the less it fits.
    """
    fitted = Fitted(reply)
    for cut in cuts:
        if fits(fitted):
            break
        fitted = _cut(fitted, cut, fits)
    return fitted


def _cut(before: Fitted[R], cut: Cut[R], fits: Callable[[Fitted[R]], bool]) -> Fitted[R]:
    size = cut.size(before.reply)
    if size <= cut.least:
        return before

    def smaller(count: int) -> Fitted[R]:
        said = f"{size - count} of {size} {cut.unit}"
        return Fitted(cut.to(before.reply, count), (*before.left_out, said))

    low, high = cut.least, size - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(smaller(middle)) else (low, middle - 1)
    return smaller(low)
