"""What must be equal before one answer may be another's: each circumstance changes the key."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from recalld.episodes.keys import key_of
from recalld.model import Filters, Mode

DAY, OTHER = datetime(2025, 1, 2, tzinfo=UTC), datetime(2025, 1, 3, tzinfo=UTC)
PLAIN: dict[str, Any] = {
    "generation_id": 1,
    "repo_ids": [1, 2],
    "filters": Filters(),
    "mode": Mode.RERANK,
    "as_of": None,
    "known_as_of": None,
    "answerer": "extractive",
    "budget": 1_500,
}
CHANGES: list[dict[str, Any]] = [
    {"generation_id": 2},
    {"repo_ids": [1]},
    {"repo_ids": [1, 2, 3]},
    {"repo_ids": []},
    {"repo_ids": [12]},
    {"filters": Filters(kinds=("decision",))},
    {"filters": Filters(tags=("decision",))},
    {"filters": Filters(kinds=("a", "b"))},
    {"filters": Filters(kinds=("a,b",))},
    {"filters": Filters(path="decisions/**")},
    {"filters": Filters(since=DAY)},
    {"filters": Filters(until=DAY)},
    {"filters": Filters(until=OTHER)},
    *[{"mode": mode} for mode in Mode if mode is not Mode.RERANK],
    {"as_of": DAY},
    {"as_of": OTHER},
    {"known_as_of": DAY},
    {"answerer": "openai/x"},
    {"budget": 64},
    {"answerer": "openai/x\udcff"},
]


def test_every_circumstance_changes_the_key() -> None:
    keys = [key_of(**PLAIN | change) for change in ({}, *CHANGES)]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("change", CHANGES)
def test_a_key_is_the_same_each_time(change: dict[str, Any]) -> None:
    assert key_of(**PLAIN | change) == key_of(**PLAIN | change)


def test_order_and_who_asks_do_not_count() -> None:
    assert key_of(**PLAIN | {"repo_ids": [2, 1]}) == key_of(**PLAIN)
    many, turned = Filters(tags=("a", "b")), Filters(tags=("b", "a"))
    assert key_of(**PLAIN | {"filters": many}) == key_of(**PLAIN | {"filters": turned})
    assert key_of(**PLAIN | {"filters": replace(many, agent="bob")}) == key_of(**PLAIN | {"filters": many})


def test_one_moment_in_two_zones_is_one() -> None:
    there = DAY.astimezone(timezone(timedelta(hours=2)))
    assert key_of(**PLAIN | {"as_of": there}) == key_of(**PLAIN | {"as_of": DAY})
