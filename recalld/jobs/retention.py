"""The job ``retention``: forget deletions that are old enough, and embeddings that nothing has used for long."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from recalld.jobs.job import Progress
from recalld.store import Store


@dataclass(frozen=True, slots=True)
class Retention:
    """Keeps tombstones, receipts and ended runs for so many days, and at most so many rows of the embedding cache."""

    store: Store
    tombstone_days: int
    cached_embeddings: int
    receipt_days: int
    history_days: int
    clock: Callable[[], datetime]

    async def __call__(self, progress: Progress) -> Mapping[str, Any]:
        """Clean up; return how many rows went."""
        progress(0, 5, "removed repos")
        while await self.store.repos.drop_removed():  # what a removal that was cut short has left
            pass
        steps: list[tuple[str, Callable[[], Awaitable[int]]]] = [
            ("tombstones", partial(self.store.documents.prune_tombstones, self._before(self.tombstone_days))),
            ("receipts", partial(self.store.receipts.prune, self._before(self.receipt_days))),
            ("runs", partial(self.store.jobs.prune, self._before(self.history_days))),
            ("embeddings", partial(self.store.cache.prune, self.cached_embeddings)),
        ]
        gone = {}
        for number, (what, prune) in enumerate(steps, 1):
            progress(number, 5, what)
            gone[what] = await prune()
        return gone

    def _before(self, days: int) -> datetime:
        return self.clock() - timedelta(days=days)
