"""Confidence: how likely a hit answers its question, by a logistic model of the scores that the stages gave it.

A model is fitted for one generation of one memory (:mod:`recalld.trust.fitting`), and centred so that 0.5 is where
answers end and abstention begins. A search is judged by the model of the scores that it has: reranked, fused or dense.
Words alone give nothing to compare: BM25 grows with the question.

Margins between hits are no feature: they depend on how many hits are asked for, and on the set of real questions that
this was chosen on, false abstentions rose with them from 1.5 to 3 %. That both legs found a hit shows in its BM25.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import ConfigDict, TypeAdapter, ValidationError

from recalld.errors import CalibrationRefused
from recalld.model import RankedChunk
from recalld.trust.statistics import Floats, sigmoid
from recalld.trust.verdict import THRESHOLD as THRESHOLD

FEATURES: Mapping[str, tuple[str, ...]] = {
    "rerank": ("maxsim", "dense", "lexical"),
    "hybrid": ("dense", "lexical"),
    "dense": ("dense",),
}
"""What a model of each kind looks at. The lexical score counts by its logarithm, and as 0 where that leg was silent."""

Scores = Mapping[str, float]
_STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)


@dataclass(frozen=True, slots=True)
class Report:
    """How well a model tells answerable questions from others; the rates are from leave-one-out fits.

    ``low`` is the confidence that 5 % of the answerable questions stay below, ``high`` the one that 5 % of the others
    exceed. ``certified`` is None where there are too few questions to say, and ``reason`` is why it is not True.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    answerable: int
    unanswerable: int
    low: float
    high: float
    auc: float
    auc_interval: tuple[float, float]
    false_abstain: float
    false_confident: float
    certified: bool | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Model:
    """Log odds as a sum: ``weights`` times the standardised features, and ``bias``; 0 is the threshold."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    features: tuple[str, ...]
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float
    report: Report

    def confidences(self, hits: Sequence[Scores]) -> list[float]:
        """Return the confidence in each hit by its scores."""
        rows = (matrix(hits, self.features) - np.array(self.mean)) / np.array(self.scale)
        chances: list[float] = sigmoid(rows @ np.array(self.weights) + self.bias).tolist()
        return chances


@dataclass(frozen=True, slots=True)
class Suspect:
    """A question that looks mislabelled: the others say the opposite of its label, with ``confidence``."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    query: str
    answerable: bool
    subject: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """The models of one generation (by its fingerprint), fitted when it held ``documents`` documents."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    generation: str
    source: Literal["pseudo", "labels"]
    fitted_at: datetime
    documents: int
    models: Mapping[str, Model]
    suspects: tuple[Suspect, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return this as plain JSON."""
        plain: dict[str, Any] = _ADAPTER.dump_python(self, mode="json")
        return plain

    @classmethod
    def from_json(cls, data: Any, generation: str) -> Calibration:
        """Read the calibration of the generation with this fingerprint. Raises CalibrationRefused for anything else."""
        try:
            calibration = _ADAPTER.validate_python(data)
        except ValidationError as error:
            fault = error.errors()[0]
            where = ".".join(map(str, fault["loc"])) or "it"
            raise CalibrationRefused(f"the stored calibration is damaged: {where}: {fault['msg']}") from error
        if calibration.generation != generation:
            raise CalibrationRefused("the stored calibration is of another generation of the index")
        if not calibration.models:
            raise CalibrationRefused("the stored calibration has no model")
        for kind, model in calibration.models.items():
            _check(kind, model)
        return calibration


_ADAPTER = TypeAdapter(Calibration)


def _check(kind: str, model: Model) -> None:
    """Raise CalibrationRefused for a model that this code would not have made."""
    if FEATURES.get(kind) != model.features:
        raise CalibrationRefused(f"the stored calibration has a model {kind} of {', '.join(model.features)}")
    if {len(model.mean), len(model.scale), len(model.weights)} != {len(model.features)}:
        raise CalibrationRefused(f"the stored model {kind} does not have one number for each feature")
    if min(model.scale) <= 0 or min(model.weights) < 0 or max(model.weights) == 0:
        raise CalibrationRefused(f"the stored model {kind} has a scale or a weight that cannot be")


def confidences(calibration: Calibration | None, hits: Sequence[RankedChunk]) -> list[float] | None:
    """Return the confidence in each hit of a search; None where nothing is calibrated for the scores that it has."""
    return None if calibration is None else judge(calibration, [hit.scores for hit in hits])


def judge(calibration: Calibration, hits: Sequence[Scores]) -> list[float] | None:
    """Return the confidence in each hit of a search by its scores; None where no model is fitted for them."""
    if not hits:
        return []
    model = calibration.models.get(kind_of(hits) or "")
    return None if model is None else model.confidences(hits)


def kind_of(hits: Sequence[Scores]) -> str | None:
    """Return which kind of model can judge hits with these scores; None for hits by words alone, and for no hits."""
    if not hits or any("dense" not in scores for scores in hits):
        return None
    if all("maxsim" in scores for scores in hits):
        return "rerank"
    return "hybrid" if any("lexical" in scores or "rrf" in scores for scores in hits) else "dense"


def matrix(hits: Sequence[Scores], features: Sequence[str]) -> Floats:
    """Return the features of hits, one row each."""
    return np.array([[_feature(scores, name) for name in features] for scores in hits]).reshape(-1, len(features))


def _feature(scores: Scores, name: str) -> float:
    return float(np.log1p(max(scores.get(name, 0.0), 0.0))) if name == "lexical" else scores[name]
