"""The job ``episodes``: what is remembered of answers is looked through, and old conversations are dropped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from anyio import to_thread

from recalld.episodes.care import Care, care
from recalld.jobs.job import Progress
from recalld.store import Store
from recalld.store.episodes import Episode

BITE = 1_000
"""Episodes that are read in one go."""
ENDED_DAYS = 30
"""How long it is kept why an answer is served no longer (days)."""
SHOWN = 50


@dataclass(frozen=True, slots=True)
class EpisodeCare:
    """Looks after episodes and sessions. Duplicates are ended where ``merge`` says so; else they are proposed."""

    store: Store
    cap: int
    session_days: int
    clock: Callable[[], datetime]
    merge: bool = False

    async def __call__(self, progress: Progress) -> Mapping[str, Any]:
        """Look through all of them; return what was done, and what is proposed."""
        progress(0, 3, "reading what is remembered")
        episodes = await self._standing()
        progress(1, 3, "looking for junk and duplicates")
        found = await to_thread.run_sync(care, episodes, self.cap, self.clock())
        progress(2, 3, "tidying")
        return await self._act(found)

    async def _standing(self) -> list[Episode]:
        found: list[Episode] = []
        while bite := await self.store.episodes.standing(found[-1].id if found else 0, BITE):
            found += bite
        return found

    async def _act(self, found: Care) -> Mapping[str, Any]:
        now = self.clock()
        await self.store.episodes.regist(found.gists)
        for id_, why in found.rubbish:
            await self.store.episodes.end([id_], f"junk: {why}", now)
        needless = [one.needless.id for one in found.duplicates] if self.merge else []
        merged = await self.store.episodes.end(needless, "merged into one that asks the same", now)
        excess = await self.store.episodes.end(found.excess, "beyond the cap", now)
        return {
            "junk": len(found.rubbish),
            "merged": merged,
            "excess": excess,
            "ended": await self.store.episodes.prune(now - timedelta(days=ENDED_DAYS)),
            "sessions": await self.store.sessions.prune(now - timedelta(days=self.session_days)),
            "duplicates": [
                {
                    "keep": one.kept.id,
                    "needless": one.needless.id,
                    "similarity": round(one.similarity, 3),
                    "questions": [one.kept.question, one.needless.question],
                }
                for one in found.duplicates[:SHOWN]
            ],
        }
