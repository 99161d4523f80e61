"""``calibrate``: how sure the memory may be, learned from labelled questions or from probes of its own."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints

from recalld.bus.wire.base import Reply, Request


class Label(BaseModel):
    """A question, and whether the memory should answer it."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    query: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=8_192)]
    answerable: bool


class CalibrateRequest(Request):
    """Fit now: to ``labels``, or without any to probe questions. ``dry_run`` reports and keeps nothing."""

    labels: tuple[Label, ...] = ()
    dry_run: bool = False


class ModelReport(Reply):
    """How well the searches of one kind (rerank, hybrid, dense) tell what the memory knows from what it does not.

    Confidence 0.5 is the threshold: 5 % of the answerable questions reach less than ``low``, 5 % of the others more
    than ``high``. The two rates are from leave-one-out fits. ``certified`` is null where there are too few questions.
    """

    kind: str
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


class SuspectView(Reply):
    """A question that looks mislabelled; ``subject`` is what a shipped question is about, or the path it came from."""

    query: str
    answerable: bool
    subject: str
    confidence: float


class CalibrateReply(Reply):
    """What was fitted. ``kept`` is false for a dry run."""

    generation: str
    source: Literal["pseudo", "labels"]
    fitted_at: datetime
    documents: int
    kept: bool
    models: tuple[ModelReport, ...]
    suspects: tuple[SuspectView, ...]
