"""Fits a calibration to questions of which is known, or believed, whether the memory answers them.

The direction is a logistic fit on the first hits. Its own threshold would sit too high where the answerable questions
are sentences of the memory itself: those are easier than what people ask. So the threshold stands midway between what
the best 5 % of the unanswerable questions reach and what the worst 5 % of the answerable ones do, each question
taken by its best hit, as a reply is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recalld.errors import CalibrationRefused
from recalld.trust.confidence import FEATURES, THRESHOLD, Calibration, Model, Report, Scores, Suspect, judge, matrix
from recalld.trust.probes import Probe
from recalld.trust.statistics import Floats, auc_interval, logistic, quantile, separability, sigmoid

TAIL = 0.05
"""The share of each class that the threshold may leave on its wrong side."""
CERTIFIABLE = 20
"""Questions of each class that a certificate needs at least."""
CERTIFIED_AUC = 0.90
"""What the lower bound of the separability must reach."""
MISFITS = 0.2
"""When more than this share of a class looks mislabelled, it is not the labels that are wrong."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A question that was asked, and the scores of the hits that came, best first."""

    probe: Probe
    hits: tuple[Scores, ...]


@dataclass(frozen=True, slots=True)
class _Line:
    """A direction and the threshold on it: standardisation, weights, and log odds of the questions' best hits."""

    mean: Floats
    scale: Floats
    weights: Floats
    threshold: float
    best: Floats

    @property
    def logits(self) -> Floats:
        return self.best - self.threshold


def fit(
    samples: Sequence[Sample],
    *,
    generation: str,
    source: Literal["pseudo", "labels"],
    fitted_at: datetime,
    documents: int,
    least: int,
) -> Calibration:
    """Return a calibration with a model of each kind that the samples' scores allow; suspects are the first one's.

    A kind whose scores cannot tell the classes apart gets none. Raises CalibrationRefused when a class has fewer than
    ``least`` questions, and when no kind gets a model.
    """
    _require_both(samples, least)
    models: dict[str, Model] = {}
    suspects: list[Suspect] = []
    refusal = CalibrationRefused("the hits have no scores that can be compared: the searches went by words alone")
    for kind, features in FEATURES.items():
        if not _has(samples, features):
            continue
        try:
            model, found = _model(samples, features, source)
        except CalibrationRefused as error:
            refusal = error
        else:
            suspects = suspects if models else found
            models[kind] = model
    if not models:
        raise refusal
    return Calibration(generation, source, fitted_at, documents, models, tuple(suspects))


def _require_both(samples: Sequence[Sample], least: int) -> None:
    answerable = sum(sample.probe.answerable for sample in samples)
    for count, name in ((answerable, "answerable"), (len(samples) - answerable, "unanswerable")):
        if count < least:
            raise CalibrationRefused(
                f"only {count} {name} questions; {least} are needed",
                suggestion="index more documents, or give labelled questions: `recall calibrate --labels FILE`",
            )


def _has(samples: Sequence[Sample], features: Sequence[str]) -> bool:
    """Tell whether every hit has these scores; the lexical leg may be silent on one."""
    wanted = set(features) - {"lexical"}
    hits = [scores for sample in samples for scores in sample.hits]
    return bool(hits) and all(wanted <= scores.keys() for scores in hits)


def _model(samples: Sequence[Sample], features: tuple[str, ...], source: str) -> tuple[Model, list[Suspect]]:
    """Fit once with all questions, and once more without those that the others speak against."""
    rows = _cube(samples, features)
    labels = np.array([sample.probe.answerable for sample in samples])
    wrong = (_left_out(rows, labels, np.ones(len(rows), dtype=bool), tails=False) >= 0) != labels
    _require_sense(wrong, labels)
    # A probe from the memory itself may be weak ("See below."), but not wrongly labelled; the tail allows for it.
    trusted = ~wrong | (labels if source == "pseudo" else False)
    line = _line(rows, labels, trusted)
    judged = _left_out(rows, labels, trusted)
    model = Model(
        features=features,
        mean=tuple(line.mean.tolist()),
        scale=tuple(line.scale.tolist()),
        weights=tuple(line.weights[:-1].tolist()),
        bias=float(line.weights[-1]) - line.threshold,
        report=_report(line.logits, judged, labels),
    )
    suspects = [
        Suspect(sample.probe.query, sample.probe.answerable, sample.probe.subject, float(sigmoid(logit)))
        for sample, logit, kept in zip(samples, judged, trusted, strict=True)
        if not kept
    ]
    return model, suspects


def _cube(samples: Sequence[Sample], features: tuple[str, ...]) -> Floats:
    """Return questions by hits by features; the first hit fills up what others have more, nothing found is all 0."""
    nothing = dict.fromkeys(features, 0.0)
    depth = max(len(sample.hits) for sample in samples)
    found = [sample.hits or (nothing,) for sample in samples]
    filled = [hit for hits in found for hit in (*hits, *[hits[0]] * (depth - len(hits)))]
    return matrix(filled, features).reshape(len(samples), depth, len(features))


def _require_sense(wrong: NDArray[np.bool_], labels: NDArray[np.bool_]) -> None:
    for of, name, opposite in ((labels, "answerable", "unanswerable"), (~labels, "unanswerable", "answerable")):
        if wrong[of].mean() > MISFITS:
            raise CalibrationRefused(
                f"{wrong[of].sum()} of {of.sum()} questions that count as {name} look {opposite}: "
                "the scores cannot tell them apart",
                suggestion="give labelled questions: `recall calibrate --labels FILE`",
            )


def _line(
    rows: Floats,
    labels: NDArray[np.bool_],
    trusted: NDArray[np.bool_],
    start: Floats | None = None,
    tails: bool = True,
) -> _Line:
    """Fit direction and threshold to the trusted questions; all questions get their log odds.

    Without ``tails`` the threshold is the logistic fit's own, which a few wrong labels do not move far.
    """
    first = rows[:, 0]
    mean, scale = first[trusted].mean(axis=0), first[trusted].std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    weights = logistic((first[trusted] - mean) / scale, labels[trusted], start)
    best = ((rows - mean) / scale @ weights[:-1]).max(axis=1) + weights[-1]
    low, high = quantile(best[trusted & labels], TAIL), quantile(best[trusted & ~labels], 1 - TAIL)
    return _Line(mean, scale, weights, (low + high) / 2 if tails else 0.0, best)


def _left_out(rows: Floats, labels: NDArray[np.bool_], trusted: NDArray[np.bool_], tails: bool = True) -> Floats:
    """Return the log odds of each question by a fit that has not seen it."""
    whole = _line(rows, labels, trusted, tails=tails)
    logits = whole.logits.copy()
    for index in np.flatnonzero(trusted):
        others = trusted.copy()
        others[index] = False
        logits[index] = _line(rows, labels, others, whole.weights, tails).logits[index]
    return logits


def _report(logits: Floats, judged: Floats, labels: NDArray[np.bool_]) -> Report:
    """Judge a model by all questions, the suspects among them."""
    answerable, unanswerable = int(labels.sum()), int((~labels).sum())
    auc = separability(judged[labels], judged[~labels])
    interval = auc_interval(auc, answerable, unanswerable)
    certified, reason = _certified(min(answerable, unanswerable), interval[0])
    chances = sigmoid(logits)
    return Report(
        answerable=answerable,
        unanswerable=unanswerable,
        low=quantile(chances[labels], TAIL),
        high=quantile(chances[~labels], 1 - TAIL),
        auc=auc,
        auc_interval=interval,
        false_abstain=float((judged[labels] < 0).mean()),
        false_confident=float((judged[~labels] >= 0).mean()),
        certified=certified,
        reason=reason,
    )


def _certified(questions: int, bound: float) -> tuple[bool | None, str]:
    if questions < CERTIFIABLE:
        return None, f"{questions} questions of a class are too few to certify; {CERTIFIABLE} are needed"
    if bound < CERTIFIED_AUC:
        return False, f"separability is {bound:.3f} at least, and {CERTIFIED_AUC} is needed"
    return True, ""


def class_errors(calibration: Calibration, samples: Sequence[Sample]) -> Mapping[bool, float]:
    """Return the share of wrongly judged questions among the answerable (True) and the others (False)."""
    wrong: dict[bool, list[bool]] = {True: [], False: []}
    for sample in samples:
        confident = max(judge(calibration, sample.hits) or [], default=0.0) >= THRESHOLD
        wrong[sample.probe.answerable].append(confident != sample.probe.answerable)
    return {label: sum(values) / len(values) if values else 0.0 for label, values in wrong.items()}
