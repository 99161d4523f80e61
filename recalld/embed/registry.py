"""The embedders of one process: the configured one, loaded in the background, and those of older generations."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio

from recalld.embed.protocol import Embedder
from recalld.errors import DependencyError, RecalldError, WarmingError
from recalld.model import Generation, QueryVectors

log = logging.getLogger(__name__)

LAST_RESORT = "hashing"

Make = Callable[[str], Awaitable[Embedder]]
"""Loads an embedder by the name that settings use for it. Raises RecalldError."""


@dataclass(slots=True)
class Embedders:
    """Loads embedders once and finds them by the space that they embed into.

    When the configured one cannot be loaded, the hashing embedder takes its place so that the lexical leg and
    indexing go on; ``trouble`` then says so, and every reply and the health check repeat it.
    """

    make: Make
    configured: str
    trouble: str = ""
    _loaded: dict[str, Embedder] = field(default_factory=dict)
    _lost: dict[str, DependencyError] = field(default_factory=dict)
    _primary: Embedder | None = None
    _ready: anyio.Event = field(default_factory=anyio.Event)
    _lock: anyio.Lock = field(default_factory=anyio.Lock)

    async def load(self) -> None:
        """Load the configured embedder, or the last resort."""
        try:
            self._primary = await self.make(self.configured)
        except RecalldError as error:
            if self.configured == LAST_RESORT:
                raise
            self.trouble = f"{self.configured} cannot be used ({error.message}); {LAST_RESORT} stands in"
            log.error("%s. %s", self.trouble, error.suggestion)
            self._primary = await self.make(LAST_RESORT)
        self._loaded[self._primary.fingerprint] = self._primary
        self._ready.set()

    async def primary(self) -> Embedder:
        """Return the embedder that new documents are embedded with, once it is loaded."""
        await self._ready.wait()
        assert self._primary is not None
        return self._primary

    @property
    def warming(self) -> bool:
        """Tell whether the configured embedder is still being loaded."""
        return self._primary is None

    async def of(self, generation: Generation) -> Embedder:
        """Return the embedder of a generation's space.

        Raises WarmingError while it may still turn out to be the configured one, DependencyError when the
        model that made the generation cannot be had any more or has changed.
        """
        if self.warming:
            raise WarmingError("the embedding model is still being loaded")
        found = self._loaded.get(generation.embedder_fingerprint)
        return found or await self._load_older(generation)

    async def _load_older(self, generation: Generation) -> Embedder:
        fingerprint = generation.embedder_fingerprint
        async with self._lock:
            if fingerprint not in self._loaded and fingerprint not in self._lost:
                await self._try_older(generation)
        if fingerprint in self._lost:
            raise self._lost[fingerprint]
        return self._loaded[fingerprint]

    async def _try_older(self, generation: Generation) -> None:
        try:
            older = await self.make(generation.embedder)
        except RecalldError as error:
            reason = error.message
        else:
            self._loaded.setdefault(older.fingerprint, older)
            reason = f"{generation.embedder} has changed since"
        if generation.embedder_fingerprint not in self._loaded:
            self._lost[generation.embedder_fingerprint] = DependencyError(
                f"the model that made generation {generation.id} cannot be used: {reason}",
                suggestion="wait until the new generation is built; `recall stats` shows the progress",
            )

    async def aclose(self) -> None:
        """Release every loaded embedder."""
        for embedder in self._loaded.values():
            await embedder.aclose()


@dataclass(frozen=True, slots=True)
class GenerationEmbedder:
    """Embeds queries for one generation; until that is possible it says why not, at once."""

    embedders: Embedders
    generation: Generation

    @property
    def fingerprint(self) -> str:
        """The generation's vector space."""
        return self.generation.embedder_fingerprint

    async def embed_query(self, text: str) -> QueryVectors:
        """Embed a query in the generation's space. Raises WarmingError or DependencyError."""
        embedder = await self.embedders.of(self.generation)
        return await embedder.embed_query(text)
