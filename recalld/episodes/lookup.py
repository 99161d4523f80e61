"""Looking a question up among those answered: exactly first, then near, and never what might be false."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from recalld.concurrent import both
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
"""Episodes of one gist that are compared with a question, at most: the newest."""
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
        """Return what memory has; the question is embedded only where other words may be the same question."""
        alike = await self.store.episodes.alike(key, asked.normal, asked.gist, LOOKED_AT)
        if alike and alike[0].normal == asked.normal:
            return await self._judged(alike[0], asked, await self.freshness.of(alike[0], filters))
        if self.model is None:
            return Found(why="new words, and nothing is fitted to tell near questions apart")
        if not asked.gist:
            return Found(why="new words, too many or too common to tell near questions apart")
        vetoes = [compare(Asked(one.question), asked).veto for one in alike]
        if "" not in vetoes:
            return Found(
                why=f"nothing near that agrees; {alike[0].question!r}: {vetoes[0]}" if alike else "nothing near"
            )
        return await self._near(alike[vetoes.index("")], asked, filters, vector)

    async def _near(
        self, episode: Episode, asked: Asked, filters: Filters, vector: Callable[[], Awaitable[Vector | None]]
    ) -> Found:
        """Judge one that may be the same question; whether it stands is looked at while the question is embedded."""
        own, standing = await both(vector, lambda: self.freshness.of(episode, filters))
        if own is None:
            return Found(why="new words, and the question could not be embedded")
        similarity = float(np.clip(own @ episode.vector, -1.0, 1.0))
        if similarity < NEAR:
            return Found(why=f"nothing near; {episode.question!r} has a cosine of {similarity:.2f}")
        return await self._judged(replace(episode, similarity=similarity), asked, standing)

    async def _judged(self, episode: Episode, asked: Asked, standing: Standing) -> Found:
        rubbish = junk(episode.answer)
        if rubbish:
            await self.store.episodes.end([episode.id], f"junk: {rubbish}", self.clock())
            return Found(why=f"what was kept is no answer ({rubbish}), and is dropped")
        confidence, enough = self._sure(episode, asked)
        found = Found(episode, episode.similarity, confidence, standing=standing)
        if standing.stale:
            await self.store.episodes.end([episode.id], f"stale: {standing.stale}", self.clock())
            return replace(found, why=f"stale: {standing.stale}")
        if not enough:
            return replace(found, why=f"not sure enough ({confidence:.2f})")
        same = "the same question" if episode.normal == asked.normal else f"near {episode.question!r}"
        return replace(found, serves=True, why=same)

    def _sure(self, episode: Episode, asked: Asked) -> tuple[float, bool]:
        """Return how sure it is that the answer fits, and whether that is enough: never for one that failed more often
        than it helped. Without a model only the same words are looked up, by which it fits."""
        good = episode.failed <= episode.helped
        if self.model is None:
            return float(good), good
        compared = compare(Asked(episode.question), asked)
        chance = self.model.chance(features_of(episode.similarity, compared), history_of(episode, self.clock()))
        return chance, good and chance >= self.model.threshold
