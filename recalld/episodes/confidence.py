"""How sure it may be that an earlier answer fits a question: a logistic model of how alike the questions are, and what
became of the answer since.

The weights of likeness are fitted to labelled pairs (``recall calibrate --episodes``). The history of one answer is not
in such pairs: counted outcomes and age move the log odds by fixed amounts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from recalld.episodes.gate import Compared
from recalld.errors import CalibrationRefused
from recalld.store.episodes import Episode

FEATURES = ("similarity", "shared", "plain", "agrees")
"""Cosine of the questions; share of carrying words in common; how few words of small change (a logarithm, 0 for none);
whether the gate found no difference."""
AGE_DAYS = 90.0
"""In so many days an answer loses half its odds."""
FAILURE, HELP = 3.0, 0.3
"""Log odds of a failure that no help outweighs, and of a help: one failure is enough to derive anew."""
CORRECTION = 0.5
"""Log odds that an answer loses with each one before it to the same question that turned out otherwise."""
_STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)


@dataclass(frozen=True, slots=True)
class FitReport:
    """How a model fared: on the topics that it was fitted on, and on those held back."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    pairs: int
    held_back: int
    topics: tuple[str, ...]
    held_topics: tuple[str, ...]
    false_hits: float
    served: float
    held_false_hits: float
    held_served: float
    auc: float
    held_auc: float


@dataclass(frozen=True, slots=True)
class EpisodeModel:
    """Log odds as a sum; ``threshold`` is the confidence from which an answer is served.

    ``embedder`` is the fingerprint of what the similarity is by.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    embedder: str
    fitted_at: datetime
    weights: tuple[float, ...]
    bias: float
    threshold: float
    report: FitReport

    def chance(self, features: tuple[float, ...], history: float = 0.0) -> float:
        """Return the confidence by features, with the log odds of what became of the answer."""
        logit = self.bias + history + sum(w * x for w, x in zip(self.weights, features, strict=True))
        return 1 / (1 + math.exp(-max(-60.0, min(60.0, logit))))

    def to_json(self) -> dict[str, Any]:
        """Return this as plain JSON."""
        plain: dict[str, Any] = _ADAPTER.dump_python(self, mode="json")
        return plain

    @classmethod
    def from_json(cls, data: Any) -> EpisodeModel:
        """Read a model. Raises CalibrationRefused for what is none."""
        try:
            model = _ADAPTER.validate_python(data)
        except ValidationError as error:
            fault = error.errors()[0]
            where = ".".join(map(str, fault["loc"])) or "it"
            raise CalibrationRefused(f"the model of episodes is damaged: {where}: {fault['msg']}") from error
        if len(model.weights) != len(FEATURES):
            raise CalibrationRefused("the model of episodes does not have one weight for each feature")
        return model


_ADAPTER = TypeAdapter(EpisodeModel)


def features_of(similarity: float, compared: Compared) -> tuple[float, ...]:
    """Return the features of two questions."""
    return (similarity, compared.shared, -math.log1p(compared.light), float(not compared.veto))


def history_of(episode: Episode, now: datetime) -> float:
    """Return what became of an answer as log odds: marks, corrections, age."""
    net = episode.helped - episode.failed
    days = max(0.0, (now - episode.at).total_seconds() / 86_400)
    outcomes = HELP * min(net, 3) if net >= 0 else FAILURE * net
    return outcomes - CORRECTION * episode.corrected - math.log(2) * days / AGE_DAYS
