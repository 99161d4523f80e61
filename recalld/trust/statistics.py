"""The little statistics that calibration needs: quantiles, separability with its interval, a logistic fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

RIDGE = 1.0
"""L2 penalty on standardised weights: keeps them finite where the classes do not overlap."""
_STEPS, _STILL = 50, 1e-6
_Z95 = 1.959964


def quantile(values: Sequence[float] | Floats, share: float) -> float:
    """Return the value with ``share`` of the values below it: always one of them, never between two."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    return float(ordered[min(len(ordered) - 1, int(share * len(ordered)))])


def separability(higher: Floats, lower: Floats) -> float:
    """Return the AUC: how often a value of ``higher`` is above one of ``lower``; ties count half."""
    difference = higher[:, None] - lower[None, :]
    return float(((difference > 0) + 0.5 * (difference == 0)).mean())


def auc_interval(auc: float, positives: int, negatives: int) -> tuple[float, float]:
    """Return the 95 % interval of an AUC by Hanley and McNeil (1982), within 0 and 1."""
    one, two = auc / (2 - auc), 2 * auc * auc / (1 + auc)
    variance = auc * (1 - auc) + (positives - 1) * (one - auc * auc) + (negatives - 1) * (two - auc * auc)
    half = _Z95 * math.sqrt(max(variance, 0.0) / (positives * negatives))
    return max(0.0, auc - half), min(1.0, auc + half)


def logistic(rows: Floats, labels: NDArray[np.bool_], start: Floats | None = None) -> Floats:
    """Fit weights and, last, the bias by iteratively reweighted least squares; both classes weigh the same.

    No weight is negative: a feature that would get one gets 0, so that a better score never means less confidence.
    ``start`` are weights of a similar fit, to be there sooner.
    """
    columns = np.arange(rows.shape[1])
    result = np.zeros(rows.shape[1] + 1) if start is None else start.copy()
    while True:
        kept = np.append(columns, rows.shape[1])
        fitted = _reweighted(rows[:, columns], labels, result[kept])
        result = np.zeros(rows.shape[1] + 1)
        result[kept] = fitted
        if not len(columns) or fitted[:-1].min() >= 0:
            return result
        columns = columns[fitted[:-1] >= 0]


def _reweighted(rows: Floats, labels: NDArray[np.bool_], weights: Floats) -> Floats:
    design = np.column_stack([rows, np.ones(len(rows))])
    share = np.where(labels, 0.5 / labels.sum(), 0.5 / (~labels).sum()) * len(labels)
    penalty = np.append(np.full(rows.shape[1], RIDGE), 1e-6)
    for _ in range(_STEPS):
        chance = sigmoid(design @ weights)
        gradient = design.T @ (share * (labels - chance)) - penalty * weights
        curvature = (design * (share * chance * (1 - chance))[:, None]).T @ design + np.diag(penalty)
        step = np.linalg.solve(curvature, gradient)
        weights = weights + step
        if np.abs(step).max() < _STILL:
            break
    return weights


def sigmoid(logits: Floats) -> Floats:
    """Return the probabilities of log odds."""
    return 1 / (1 + np.exp(-np.clip(logits, -60, 60)))
