"""What to say where memory has an answer of its own beside the one just derived: by rules, without a model. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from recalld.episodes.lookup import Found
from recalld.store.episodes import Episode

_MARKER = re.compile(r"\[[\d, ]+\]")
_WORDS = re.compile(r"[^\W_]+")
_CLEARLY = 0.1
"""Confidences that differ by less say nothing; then what is newer counts."""


@dataclass(frozen=True, slots=True)
class Derived:
    """An answer that was just derived, and the confidence in what it relies on (None: nothing is calibrated)."""

    answer: str
    confidence: float | None


@dataclass(frozen=True, slots=True)
class Reconciled:
    """Which answer counts: ``earlier`` where memory's does; ``differs`` where they do not say the same."""

    earlier: bool
    differs: bool
    why: str


def reconcile(found: Found, derived: Derived) -> Reconciled | None:
    """Weigh memory's answer against the derived one: validity, then confidence, then recency. None without the former.

    An earlier answer that no longer stands has lost; ``differs`` then says whether it was corrected.
    """
    episode = found.episode
    if episode is None:
        return None
    differs = not same(episode.answer, derived.answer)
    if found.standing.stale:
        return Reconciled(False, differs, "the earlier answer no longer stands")
    if not differs:
        return Reconciled(False, False, "both say the same")
    if _surer(found, episode, derived):
        return Reconciled(True, True, "the earlier answer relies on what is surer")
    return Reconciled(False, True, "the later answer is as sure, and newer")


def _surer(found: Found, episode: Episode, derived: Derived) -> bool:
    """Tell whether the earlier answer is the surer one, counting how sure it is that it fits this question."""
    if episode.failed + episode.corrected > episode.helped:
        return False
    return found.confidence * (episode.confidence or 0.0) > (derived.confidence or 0.0) + _CLEARLY


def same(first: str, second: str) -> bool:
    """Tell whether two answers say the same in the same words."""
    return _said(first) == _said(second)


def unmarked(answer: str) -> str:
    """Return an answer without its markers, which number the passages of another day."""
    return _MARKER.sub("", answer)


def _said(answer: str) -> str:
    """Return an answer without its markers, case and spacing."""
    return " ".join(_WORDS.findall(unmarked(answer.casefold())))
