"""A last look at the hits: whether each answers the question, or is only on its subject. The model is a plugin's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from recalld.recall.attempt import Failure, attempt


class Entailment(Protocol):
    """A model that reads question and passage and tells whether the one answers the other."""

    @property
    def name(self) -> str:
        """What the stage is called in traces and in a hit's scores."""
        ...

    async def judge(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return for each text the probability that it answers. Raises DependencyError when the model fails."""
        ...


@dataclass(frozen=True, slots=True)
class Gate:
    """Looks at the first ``hits`` hits: one below ``threshold`` does not answer. ``timeout_s`` is for all of them."""

    judge: Entailment
    threshold: float
    hits: int
    timeout_s: float

    async def chances(self, query: str, texts: Sequence[str]) -> Sequence[float] | Failure:
        """Return the probability that each of the first texts answers, or why there is none.

        Raises ValueError when the judge's decisions cannot be those on the texts: another number of them, or no
        probabilities.
        """
        asked = texts[: self.hits]
        found = await attempt(lambda: self.judge.judge(query, asked), self.timeout_s, self.judge.name)
        if isinstance(found, Failure):
            return found
        if len(found) != len(asked):
            raise ValueError(f"{self.judge.name} gave {len(found)} decisions on {len(asked)} passages")
        if not all(0 <= chance <= 1 for chance in found):
            raise ValueError(f"{self.judge.name} gave a decision that is no probability: {list(found)}")
        return found
