"""The job ``retention``: forget deletions that are old enough, and embeddings that nothing has used for long."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from recalld.store import Store


@dataclass(frozen=True, slots=True)
class Retention:
    """Keeps tombstones and receipts for so many days, and at most ``cached_embeddings`` rows of the embedding cache."""

    store: Store
    tombstone_days: int
    cached_embeddings: int
    receipt_days: int
    clock: Callable[[], datetime]

    async def __call__(self) -> Mapping[str, Any]:
        """Clean up; return how many rows went."""
        before = self.clock() - timedelta(days=self.tombstone_days)
        while await self.store.repos.drop_removed():  # what a removal that was cut short has left
            pass
        return {
            "tombstones": await self.store.documents.prune_tombstones(before),
            "receipts": await self.store.receipts.prune(self.clock() - timedelta(days=self.receipt_days)),
            "embeddings": await self.store.cache.prune(self.cached_embeddings),
        }
