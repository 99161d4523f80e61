"""From the settings to the optional judges of plugins: another reranker, and what tells whether a passage answers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

import anyio
from anyio import to_thread

from recalld.errors import ConfigError, DependencyError, RecalldError, WarmingError
from recalld.model import QueryVectors
from recalld.plugins import made, plugin
from recalld.recall.entailment import Entailment, Gate
from recalld.recall.ports import Ranking
from recalld.recall.rerank import Reranker, Texts
from recalld.settings import RecallSettings, TrustSettings

RERANKERS, ENTAILMENT = "recalld.rerankers", "recalld.entailment"
"""Groups of entry points. A reranker's is called with its options, the cache directory and a reader of texts; an
entailment's with its options."""
BUILT_IN = "maxsim"
_DOCUMENTED = "docs/judges.md"
RETRY_S = 60.0
"""How often it is tried to load a model that could not be had (seconds)."""

log = logging.getLogger(__name__)

J = TypeVar("J")


@dataclass(slots=True)
class Pending(Generic[J]):
    """A judge that is loaded in the background; until then, and where it cannot be, it says why not.

    ``make`` blocks, and raises ConfigError or DependencyError.
    """

    name: str
    make: Callable[[], J]
    _made: J | None = field(default=None, init=False)
    _trouble: str = field(default="", init=False)

    async def load(self) -> None:
        """Load the model; one that cannot be had now is tried again, one that settings name wrongly is not."""
        while self._made is None:
            try:
                self._made = await to_thread.run_sync(self.make)
            except RecalldError as error:
                self._trouble = f"{self.name} cannot be used: {error.message}"
                log.error("%s. %s", self._trouble, error.suggestion)
                if isinstance(error, ConfigError):
                    return
                await anyio.sleep(RETRY_S)

    def get(self) -> J:
        """Return the judge. Raises WarmingError while it is being loaded, DependencyError where it could not be."""
        if self._made is not None:
            return self._made
        if self._trouble:
            raise DependencyError(self._trouble)
        raise WarmingError(f"{self.name} is still being loaded")


class PendingReranker(Pending[Reranker]):
    """A reranker that may not be there yet."""

    async def rerank(self, query: str, vectors: QueryVectors, candidates: Sequence[int]) -> Ranking | None:
        """Rerank. Raises as :meth:`get` does."""
        return await self.get().rerank(query, vectors, candidates)


class PendingEntailment(Pending[Entailment]):
    """An entailment model that may not be there yet."""

    async def judge(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Judge. Raises as :meth:`get` does."""
        return await self.get().judge(query, texts)


def make_reranker(settings: RecallSettings, cache_dir: Path, texts: Texts) -> Reranker:
    """Return the reranker of a plugin that the settings name. Blocking.

    Raises ConfigError for an unknown name or bad options, DependencyError when its model cannot be had now.
    """
    make = plugin(RERANKERS, settings.reranker, "recall.reranker")
    reranker: Reranker = made(make, "recall.reranker_options", _DOCUMENTED, settings.reranker_options, cache_dir, texts)
    return reranker


def make_entailment(settings: TrustSettings) -> Entailment:
    """Return the entailment model of a plugin that the settings name. Blocking; raises as above."""
    make = plugin(ENTAILMENT, settings.entailment, "trust.entailment")
    judge: Entailment = made(make, "trust.entailment_options", _DOCUMENTED, settings.entailment_options)
    return judge


def make_gate(settings: TrustSettings, judge: Entailment) -> Gate:
    """Return what looks at answers once more, by this model."""
    return Gate(judge, settings.entailment_threshold, settings.entailment_hits, settings.entailment_timeout_s)
