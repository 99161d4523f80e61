"""How sure a mean over questions is: bootstrap intervals, and paired comparisons of two conditions.

Questions are drawn with replacement (Efron, 1979); the seed is an argument, so the same run gives the same interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 2000
_CONFIDENCE = (2.5, 97.5)


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over ``count`` questions with its 95 % interval."""

    value: float
    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean difference of two conditions on the same ``count`` questions, with its 95 % interval.

    ``chance`` is the share of random swaps of the two that differ at least so much: small where the difference is real.
    """

    value: float
    low: float
    high: float
    count: int
    chance: float


def mean(values: Sequence[float], seed: int) -> Mean:
    """Return the mean of values (at least one) with its interval."""
    given = np.asarray(values, dtype=float)
    low, high = _interval(given, np.random.default_rng(seed))
    return Mean(float(given.mean()), low, high, len(given))


def difference(values: Sequence[float], baseline: Sequence[float], seed: int) -> Difference:
    """Compare two conditions question by question; the sequences are of the same questions, at least one."""
    rng = np.random.default_rng(seed)
    apart = np.asarray(values, dtype=float) - np.asarray(baseline, dtype=float)
    low, high = _interval(apart, rng)
    signs = rng.choice((-1.0, 1.0), size=(RESAMPLES, len(apart)))
    swapped = np.abs((signs * apart).mean(axis=1))
    extreme = int((swapped >= abs(apart.mean()) - 1e-12).sum())
    return Difference(float(apart.mean()), low, high, len(apart), (extreme + 1) / (RESAMPLES + 1))


def _interval(values: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    means = values[rng.integers(0, len(values), size=(RESAMPLES, len(values)))].mean(axis=1)
    low, high = np.percentile(means, _CONFIDENCE)
    return float(low), float(high)
