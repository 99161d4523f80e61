"""Metrics of how sure an answer is: separability, what abstaining buys, and whether a confidence means what it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import numpy as np

from recalld.trust.statistics import separability

BINS = 10


@dataclass(frozen=True, slots=True)
class Point:
    """Of the questions that are answered at a threshold: their share of all, and the share of wrong ones in them."""

    threshold: float
    coverage: float
    risk: float


def auroc(confidences: Sequence[float], right: Sequence[bool]) -> float | None:
    """Return how often a right one is surer than a wrong one, ties half; None where there are not both."""
    both = np.array(right, dtype=bool)
    if both.all() or not both.any():
        return None
    values = np.array(confidences, dtype=float)
    return separability(values[both], values[~both])


def risk_coverage(confidences: Sequence[float], right: Sequence[bool]) -> list[Point]:
    """Return a point for each confidence, surest first (El-Yaniv and Wiener, 2010); equal ones come in together."""
    pairs = sorted(zip(confidences, right, strict=True), key=itemgetter(0), reverse=True)
    points: list[Point] = []
    answered = wrong = 0
    for threshold, group in groupby(pairs, key=itemgetter(0)):
        outcomes = [ok for _, ok in group]
        answered += len(outcomes)
        wrong += outcomes.count(False)
        points.append(Point(threshold, answered / len(pairs), wrong / answered))
    return points


def area_under(points: Sequence[Point]) -> float:
    """Return the mean risk over all coverages of a risk-coverage curve (AURC); lower is better."""
    area = before = 0.0
    for point in points:
        area += point.risk * (point.coverage - before)
        before = point.coverage
    return area


def calibration_error(confidences: Sequence[float], right: Sequence[bool], bins: int = BINS) -> float:
    """Return the expected calibration error over bins of equal width (Guo et al., 2017)."""
    values, outcomes = np.array(confidences, dtype=float), np.array(right, dtype=float)
    place = np.minimum((values * bins).astype(int), bins - 1)
    held = [place == number for number in range(bins) if (place == number).any()]
    return float(sum(abs(values[one].mean() - outcomes[one].mean()) * one.mean() for one in held))
