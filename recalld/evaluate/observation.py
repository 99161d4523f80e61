"""What one condition did with one task: the same five stages for every condition, whatever it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import zip_longest

from recalld.model import Retrieval, StageTrace


class Stage(StrEnum):
    """Where in a search a ranking is taken. A condition that lacks a stage hands on what the one before it had."""

    RETRIEVED = "retrieved"
    """What the legs found: of two legs the first of each, then the second of each, and so on."""
    FUSED = "fused"
    """One ranking made of the legs'."""
    RERANKED = "reranked"
    """The candidates that were looked at closely, in the order that came of it."""
    ADMITTED = "admitted"
    """What fits into an answer: as many passages as are asked for, none that repeats another."""
    ANSWERED = "answered"
    """What is served as an answer, once it is known what holds and how sure it is; nothing where it abstains."""


@dataclass(frozen=True, slots=True)
class Observation:
    """Chunk ids by stage, best first, and what the condition said of itself.

    ``score`` is the best raw score that it saw, comparable between questions of one condition alone; ``confidence`` the
    calibrated probability that the memory has an answer, None where nothing is calibrated. ``withheld`` has the verdict
    on each chunk that was kept back.
    """

    stages: Mapping[Stage, Sequence[int]]
    took_ms: float = 0.0
    stage_ms: Mapping[str, float] = field(default_factory=dict)
    score: float = 0.0
    confidence: float | None = None
    withheld: Mapping[int, str] = field(default_factory=dict)
    notes: Sequence[str] = ()

    @property
    def abstained(self) -> bool:
        """Tell whether nothing was served."""
        return not self.stages[Stage.ANSWERED]


def same_at_all(ranking: Sequence[int]) -> dict[Stage, Sequence[int]]:
    """Return the stages of a condition that has but one."""
    return dict.fromkeys(Stage, ranking)


def rankings(retrieval: Retrieval) -> dict[Stage, Sequence[int]]:
    """Read the stages up to ``admitted`` from a search that was traced with its rankings."""
    traced = {stage.stage: stage for stage in retrieval.trace}
    legs = [_ids(traced[name]) for name in ("dense", "lexical") if name in traced]
    fused = _ids(traced["fuse"]) if "fuse" in traced else (legs[0] if legs else ())
    return {
        Stage.RETRIEVED: _in_turns(legs),
        Stage.FUSED: fused,
        Stage.RERANKED: _ids(traced["blend"]) if "blend" in traced else fused,
        Stage.ADMITTED: [hit.chunk.id for hit in retrieval.chunks],
    }


def stage_times(retrieval: Retrieval) -> dict[str, float]:
    """Return how long each stage of a search took (ms); stages that run at once overlap."""
    return {stage.stage: stage.took_ms for stage in retrieval.trace}


def _ids(stage: StageTrace) -> tuple[int, ...]:
    return tuple(chunk for chunk, _ in stage.ranking)


def _in_turns(legs: Sequence[Sequence[int]]) -> list[int]:
    return list(dict.fromkeys(id_ for row in zip_longest(*legs) for id_ in row if id_ is not None))
