"""Whether an answer stands on what it cites: each number was admitted, and the passage says what is claimed. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recalld import agreement
from recalld.episodes.sentences import sentences

_MARKERS = re.compile(r"\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]{8,})[\"”“»]")
_AFTER = re.compile(r"([.!?。！？]?[\"'”’»)*_`]*)(\s*(?:\[\d[\d,\s]*\]\s*)+)(?=\s|$)")
_GAP = re.compile(r"\s*(?:\[…\]|\[\.\.\.\]|…|\.\.\.)\s*")
_BARE = frozenset({"yes", "no"})
_LEAD = 4
"""Carrying words that may lead up to a quote that holds."""
_SHARE = 0.5
"""Share of a claim's carrying words that the passages it cites must have between them."""


@dataclass(frozen=True, slots=True)
class Checked:
    """An answer after its citations were looked at: only claims that hold, and what was wrong with the others."""

    answer: str
    cited: tuple[int, ...]
    faults: tuple[str, ...]

    @property
    def stands(self) -> bool:
        """Tell whether the answer cites something, and nothing of it was wrong."""
        return bool(self.cited) and not self.faults


def check(answer: str, passages: Mapping[int, str]) -> Checked:
    """Look at an answer's citations, given the admitted passages by number."""
    faults: list[str] = []
    cited: list[int] = []
    for claim in _claims(answer):
        numbers = _numbers(claim)
        strange = [number for number in numbers if number not in passages]
        if strange:
            faults.append(f"[{strange[0]}] is no passage that was given")
        held = [number for number in numbers if number in passages]
        if not held:
            continue
        fault = _unsupported(_MARKERS.sub("", claim), [passages[number] for number in held])
        if fault:
            faults.append(fault)
        else:
            cited += held
    if not cited and not faults:
        faults.append("it cites nothing")
    return Checked(answer, tuple(dict.fromkeys(cited)), tuple(faults))


def _claims(answer: str) -> list[str]:
    """Return the claims of an answer, each with its markers: a sentence that cites, with those before it that do not.

    Markers that stand after a full stop or a quote belong to what is before them; what follows the last ones, too.
    """
    claims: list[str] = []
    pending = ""
    for sentence in sentences(_AFTER.sub(r"\2\1", answer)):
        pending = f"{pending} {sentence}".strip()
        if _MARKERS.search(sentence):
            claims.append(pending)
            pending = ""
    if pending and claims:
        claims[-1] += f" {pending}"
    return claims


def _numbers(claim: str) -> list[int]:
    return [int(number) for group in _MARKERS.findall(claim) for number in group.split(",")]


def _unsupported(claim: str, passages: Sequence[str]) -> str:
    """Return what of a claim the passages do not say; empty where they say it."""
    said = " ".join(passages)
    folded = _folded(said)
    for quote in _QUOTED.findall(claim):
        if any(_folded(part) not in folded for part in _GAP.split(quote)):
            return f"the quote {_short(quote)!r} is not in what it cites"
    missing = sorted(agreement.numbers(claim) - agreement.numbers(said) - set(re.findall(r"\d+(?:\.\d+)*", said)))
    if missing:
        return f"the number {missing[0]} is not in what {_short(claim)!r} cites"
    stems = agreement.stems(claim) - _BARE
    if _QUOTED.search(claim) and len(agreement.stems(_QUOTED.sub(" ", claim))) <= _LEAD:
        return ""
    if stems and len(stems & agreement.stems(said)) < _SHARE * len(stems):
        return f"what {_short(claim)!r} cites does not speak of it"
    return ""


def _folded(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


def _short(text: str, most: int = 60) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
