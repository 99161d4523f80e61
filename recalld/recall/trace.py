"""What a search did, stage by stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter

from recalld.model import StageTrace
from recalld.recall.ports import Ranking
from recalld.spans import past


class Trace:
    """Collects the stages of one search, and every score that a stage gave to a chunk.

    ``rankings`` False leaves the rankings out of the stages: times and counts are kept always.
    """

    def __init__(self, *, rankings: bool) -> None:
        self._rankings = rankings
        self._scores: dict[int, dict[str, float]] = {}
        self.stages: list[StageTrace] = []

    def stage(
        self, name: str, begun: float, entered: int, ranking: Ranking, dropped: Mapping[int, str] | None = None
    ) -> None:
        """Close a stage that began at ``begun`` (``perf_counter`` seconds)."""
        past(name, begun, entered=entered, left=len(ranking))
        self.stages.append(
            StageTrace(
                stage=name,
                took_ms=(perf_counter() - begun) * 1e3,
                entered=entered,
                left=len(ranking),
                ranking=tuple(ranking) if self._rankings else (),
                dropped=tuple((dropped or {}).items()),
            )
        )

    def score(self, name: str, scores: Ranking) -> None:
        """Remember what a stage thought of each chunk."""
        for chunk, score in scores:
            self._scores.setdefault(chunk, {})[name] = score

    def scores(self, chunk: int) -> dict[str, float]:
        """Return the scores of a chunk by stage."""
        return self._scores.get(chunk, {})

    def by(self, name: str) -> dict[int, float]:
        """Return the scores that a stage gave, by chunk."""
        return {chunk: scores[name] for chunk, scores in self._scores.items() if name in scores}

    def lacking(self, name: str, chunks: Sequence[int]) -> list[int]:
        """Return those of ``chunks`` that the stage has not scored."""
        return [chunk for chunk in chunks if name not in self._scores.get(chunk, {})]
