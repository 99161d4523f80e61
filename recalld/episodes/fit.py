"""Fits how sure it may be that one question is another to labelled pairs, split by topic: some to fit on, the others to
judge by. Pure, but for the embedding that the caller does."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from recalld.episodes.confidence import EpisodeModel, FitReport, features_of
from recalld.episodes.gate import Asked, Compared, compare
from recalld.errors import CalibrationRefused, UsageError
from recalld.model import Vector
from recalld.trust.statistics import Floats, logistic, separability

LEAST = 100
"""Pairs that a fit needs, of which a fifth must be of each kind."""
FALSE_HITS = 0.01
"""Share of the pairs that are not one question which may be served, at most."""
SWEEP = tuple(round(0.5 + 0.02 * step, 2) for step in range(25))


class Pair(BaseModel):
    """Two questions, and whether the answer to the first fully answers the second."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    topic: str
    first: str
    second: str
    relation: Literal["paraphrase", "near_miss", "scope_mismatch", "negated", "unrelated"]
    serve: bool


@dataclass(frozen=True, slots=True)
class SweepRow:
    """What would be served from one threshold on: shares of the wrong and the right pairs, fitted on and held back."""

    threshold: float
    false_hits: float
    served: float
    held_false_hits: float
    held_served: float


@dataclass(frozen=True, slots=True)
class Judged:
    """A pair with its features and whether the gate lets it pass."""

    pair: Pair
    features: tuple[float, ...]
    passes: bool


def shipped_pairs() -> list[Pair]:
    """Return the labelled pairs that come with the project."""
    return read_pairs((files("recalld.data") / "episodes.jsonl").read_text("utf-8"))


def read_pairs(text: str) -> list[Pair]:
    """Read pairs, one JSON object a line. Raises UsageError, which names the line."""
    pairs: list[Pair] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            pairs.append(Pair.model_validate(json.loads(line)))
        except (ValueError, ValidationError) as error:
            raise UsageError(
                f"line {number} is no pair: {str(error).splitlines()[0]}",
                suggestion='write {"topic", "first", "second", "relation", "serve"} as JSON, one a line',
            ) from error
    return pairs


def judged(pairs: Sequence[Pair], vectors: Mapping[str, Vector]) -> list[Judged]:
    """Return pairs with their features, given the vectors of their questions."""
    found = []
    for pair in pairs:
        compared: Compared = compare(Asked(pair.first), Asked(pair.second))
        similarity = float(np.dot(vectors[pair.first], vectors[pair.second]))
        found.append(Judged(pair, features_of(similarity, compared), not compared.veto))
    return found


def fit(rows: Sequence[Judged], embedder: str, at: datetime) -> tuple[EpisodeModel, list[SweepRow]]:
    """Return a model and its sweep. Raises CalibrationRefused where the pairs are too few or of one kind."""
    topics = sorted({row.pair.topic for row in rows})
    own = [row for row in rows if row.pair.topic in topics[::2]]
    held = [row for row in rows if row.pair.topic in topics[1::2]]
    _require(own, held)
    weights = logistic(np.array([row.features for row in own]), np.array([row.pair.serve for row in own]))
    bias = float(weights[-1])
    scored = [(_scores(part, weights), part) for part in (own, held)]
    sweep = [_row(threshold, scored) for threshold in SWEEP]
    allowed = [row for row in sweep if row.false_hits <= FALSE_HITS]
    if not allowed:
        raise CalibrationRefused("no threshold keeps false hits low enough", suggestion="give other pairs")
    best = max(allowed, key=lambda row: (row.served, -row.threshold))
    aucs = [_auc(scores, part) for scores, part in scored]
    report = FitReport(
        len(own), len(held), tuple(topics[::2]), tuple(topics[1::2]),
        best.false_hits, best.served, best.held_false_hits, best.held_served, *aucs,
    )  # fmt: skip
    return EpisodeModel(embedder, at, tuple(map(float, weights[:-1])), bias, best.threshold, report), sweep


def _require(own: Sequence[Judged], held: Sequence[Judged]) -> None:
    for part in (own, held):
        right = sum(row.pair.serve for row in part)
        if len(part) < LEAST or min(right, len(part) - right) < len(part) / 5:
            raise CalibrationRefused(
                f"{len(part)} pairs of which {right} are one question are too few, or of one kind",
                suggestion=f"give {2 * LEAST} pairs of at least two topics, a fifth of each kind",
            )


def _scores(rows: Sequence[Judged], weights: Floats) -> Floats:
    design = np.column_stack([np.array([row.features for row in rows]), np.ones(len(rows))])
    scores: Floats = 1 / (1 + np.exp(-(design @ weights)))
    return scores


def _row(threshold: float, scored: Sequence[tuple[Floats, Sequence[Judged]]]) -> SweepRow:
    shares: list[float] = []
    for scores, rows in scored:
        served = [score >= threshold and row.passes for score, row in zip(scores, rows, strict=True)]
        for wanted in (False, True):
            own = [hit for hit, row in zip(served, rows, strict=True) if row.pair.serve is wanted]
            shares.append(float(sum(own)) / len(own))
    return SweepRow(threshold, *shares)


def _auc(scores: Floats, rows: Sequence[Judged]) -> float:
    labels = np.array([row.pair.serve for row in rows])
    return separability(scores[labels], scores[~labels])
