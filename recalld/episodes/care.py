"""Care for what is remembered: junk goes, near-duplicates are proposed for merging, and a cap is kept. Pure.

Two questions are duplicates where their circumstances are equal, their cosine is above :data:`ALIKE`, and the gate
finds no difference. The one that is kept is the one that helped most, then the newest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from recalld.episodes.confidence import history_of
from recalld.episodes.gate import Asked, compare
from recalld.episodes.junk import junk
from recalld.store.episodes import Episode

ALIKE = 0.92


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Episodes that are one question: the one to keep, and one that it makes needless."""

    kept: Episode
    needless: Episode
    similarity: float


@dataclass(frozen=True, slots=True)
class Care:
    """What is to be done: ids of junk with the reason, duplicates, ids beyond the cap, and gists by other rules."""

    rubbish: Sequence[tuple[int, str]]
    duplicates: Sequence[Duplicate]
    excess: Sequence[int]
    gists: Mapping[int, str]


def care(episodes: Sequence[Episode], cap: int, now: datetime) -> Care:
    """Look at all episodes that stand."""
    rubbish = [(one.id, why) for one in episodes if (why := junk(one.answer))]
    gone = {id_ for id_, _ in rubbish}
    sound = [one for one in episodes if one.id not in gone]
    gists = {one.id: gist for one in sound if (gist := Asked(one.question).gist) != one.gist}
    return Care(rubbish, duplicates(sound), excess(sound, cap, now), gists)


def duplicates(episodes: Sequence[Episode]) -> list[Duplicate]:
    """Return the near-duplicates, each needless episode once."""
    alike: dict[tuple[str, str], list[Episode]] = {}
    for one in sorted(episodes, key=lambda each: (each.helped - each.failed, each.at), reverse=True):
        alike.setdefault((one.key, Asked(one.question).gist), []).append(one)
    return [found for group in alike.values() if len(group) > 1 for found in _of_group(group)]


def excess(episodes: Sequence[Episode], cap: int, now: datetime) -> list[int]:
    """Return those beyond the cap: first those with the worst history, then those served longest ago."""
    over = len(episodes) - cap
    if over <= 0:
        return []
    worst = sorted(episodes, key=lambda one: (round(history_of(one, now), 1), one.last_served_at or one.at))
    return [one.id for one in worst[:over]]


def _of_group(group: Sequence[Episode]) -> list[Duplicate]:
    """Compare each with those that are kept already; the best come first."""
    vectors = np.array([one.vector for one in group], dtype=np.float32)
    found: list[Duplicate] = []
    kept: list[int] = []
    for number, one in enumerate(group):
        near = _nearest(vectors, kept, number) if kept else None
        alike = next(
            (at for at in near or () if not compare(Asked(group[at].question), Asked(one.question)).veto), None
        )
        if alike is None:
            kept.append(number)
        else:
            found.append(Duplicate(group[alike], one, float(vectors[alike] @ vectors[number])))
    return found


def _nearest(vectors: np.ndarray, kept: Sequence[int], number: int) -> list[int]:
    """Return those kept that are above :data:`ALIKE`, the nearest first."""
    cosines = vectors[kept] @ vectors[number]
    return [kept[at] for at in np.argsort(-cosines) if cosines[at] > ALIKE]
