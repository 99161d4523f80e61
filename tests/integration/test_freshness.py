"""How far the index is behind, and when a quiet memory counts as aged."""

from __future__ import annotations

from datetime import timedelta

import pytest

from recalld.serve.status import Freshness
from recalld.store import Store
from tests.support.stored import AT, add_generation, add_repo, write

HOUR = timedelta(hours=1)


async def none_pending() -> int:
    return 0


@pytest.mark.parametrize(
    ("later", "after", "aged"),
    [(HOUR, 2 * HOUR, False), (3 * HOUR, 2 * HOUR, True), (1_000 * HOUR, timedelta(), False)],
)
async def test_a_memory_in_which_nothing_was_indexed_for_long_is_aged(
    postgres: str, later: timedelta, after: timedelta, aged: bool
) -> None:
    store = await Store.open(postgres)
    try:
        repo, generation = await add_repo(store), await add_generation(store)
        await write(store, repo, generation, "a.md", "A")
        fresh = await Freshness(store, none_pending, lambda: AT + later, after)()
        assert fresh.aged is aged
        assert fresh.newest_indexed_at == AT
    finally:
        await store.aclose()
