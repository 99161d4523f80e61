"""Looking a question up among those answered: exactly first, then near, and never what might be false."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime

from recalld.episodes.confidence import EpisodeModel, features_of, history_of
from recalld.episodes.freshness import Freshness, Standing
from recalld.episodes.gate import Asked, compare
from recalld.episodes.junk import junk
from recalld.model import Filters, Vector
from recalld.store import Store
from recalld.store.episodes import Episode

NEAR = 0.6
"""Cosine below which no question is another in other words; chosen on labelled pairs."""
LOOKED_AT = 8
STANDS = Standing("")


@dataclass(frozen=True, slots=True)
class Found:
    """What memory has of a question. ``episode`` None: nothing that fits.

    ``serves`` where its answer may be given; else ``standing.stale`` or a low ``confidence`` say why not. ``why`` tells
    how it went, for the trace.
    """

    episode: Episode | None = None
    similarity: float = 0.0
    confidence: float = 0.0
    serves: bool = False
    standing: Standing = STANDS
    why: str = ""


@dataclass(frozen=True, slots=True)
class Lookup:
    """Looks questions up under an exact key. ``model`` is None where nothing is fitted for the embedder: then only the
    same words are the same question."""

    store: Store
    freshness: Freshness
    model: EpisodeModel | None
    clock: Callable[[], datetime]

    async def find(
        self, key: str, asked: Asked, filters: Filters, vector: Callable[[], Awaitable[Vector | None]]
    ) -> Found:
        """Return what memory has; the question is embedded only where its words are new."""
        episode = await self.store.episodes.exact(key, asked.normal)
        if episode is not None:
            return await self._judged(episode, asked, filters)
        if self.model is None:
            return Found(why="new words, and nothing is fitted to tell near questions apart")
        if not asked.gist:
            return Found(why="new words, too many or too common to tell near questions apart")
        own = await vector()
        if own is None:
            return Found(why="new words, and the question could not be embedded")
        return await self._near(key, asked, filters, own)

    async def _near(self, key: str, asked: Asked, filters: Filters, vector: Vector) -> Found:
        candidates = await self.store.episodes.near(key, asked.gist, vector, NEAR, LOOKED_AT)
        vetoes = []
        for episode in candidates:
            veto = compare(Asked(episode.question), asked).veto
            if not veto:
                return await self._judged(episode, asked, filters)
            vetoes.append(f"{episode.similarity:.2f} {episode.question!r}: {veto}")
        return Found(why=f"nothing near that agrees; {vetoes[0]}" if vetoes else "nothing near")

    async def _judged(self, episode: Episode, asked: Asked, filters: Filters) -> Found:
        rubbish = junk(episode.answer)
        if rubbish:
            await self.store.episodes.end([episode.id], f"junk: {rubbish}", self.clock())
            return Found(why=f"what was kept is no answer ({rubbish}), and is dropped")
        confidence, enough = self._sure(episode, asked)
        found = Found(episode, episode.similarity, confidence)
        standing = await self.freshness.of(episode, filters)
        if standing.stale:
            await self.store.episodes.end([episode.id], f"stale: {standing.stale}", self.clock())
            return replace(found, standing=standing, why=f"stale: {standing.stale}")
        if not enough:
            return replace(found, standing=standing, why=f"not sure enough ({confidence:.2f})")
        same = "the same question" if episode.normal == asked.normal else f"near {episode.question!r}"
        return replace(found, serves=True, standing=standing, why=same)

    def _sure(self, episode: Episode, asked: Asked) -> tuple[float, bool]:
        """Return how sure it is that the answer fits, and whether that is enough: never for one that failed more often
        than it helped. Without a model only the same words are looked up, by which it fits."""
        good = episode.failed <= episode.helped
        if self.model is None:
            return float(good), good
        compared = compare(Asked(episode.question), asked)
        chance = self.model.chance(features_of(episode.similarity, compared), history_of(episode, self.clock()))
        return chance, good and chance >= self.model.threshold
