"""Fusion and the shortlist."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.recall.fuse import fuse, shortlist
from recalld.recall.ports import Ranking

rankings = st.lists(
    st.lists(st.integers(1, 30), unique=True, max_size=20).map(
        lambda ids: [(chunk, 1.0 / place) for place, chunk in enumerate(ids, start=1)]
    ),
    max_size=4,
)


def test_ranks_count_from_one_and_add_up() -> None:
    fused = dict(fuse([[(1, 9.0), (2, 8.0)], [(2, 0.5)]], k=60))
    assert fused == {1: pytest.approx(1 / 61), 2: pytest.approx(1 / 62 + 1 / 61)}


def test_a_leg_that_does_not_know_a_chunk_adds_nothing_to_it() -> None:
    assert dict(fuse([[(1, 9.0)], []])) == dict(fuse([[(1, 9.0)]]))
    assert fuse([]) == []


def test_equal_scores_go_by_best_rank_then_by_id() -> None:
    assert [chunk for chunk, _ in fuse([[(7, 1.0)], [(3, 1.0)]])] == [3, 7]
    once_first_once_third = 1 / 61 + 1 / 63
    fused = fuse([[(1, 1.0), (2, 1.0), (3, 1.0)], [(3, 1.0), (2, 1.0), (1, 1.0)]])
    assert [chunk for chunk, score in fused if score == pytest.approx(once_first_once_third)] == [1, 3]


@given(rankings)
def test_the_order_of_the_legs_makes_no_difference(legs: list[Ranking]) -> None:
    assert fuse(legs) == fuse(list(reversed(legs)))


@given(rankings)
def test_every_chunk_of_every_leg_is_ranked_once_best_first(legs: list[Ranking]) -> None:
    fused = fuse(legs)
    assert sorted(chunk for chunk, _ in fused) == sorted({chunk for leg in legs for chunk, _ in leg})
    assert [score for _, score in fused] == sorted((score for _, score in fused), reverse=True)


def test_what_one_leg_puts_first_is_kept_behind_what_both_find_mediocre() -> None:
    both = list(range(100, 120))
    dense = [(1, 0.9), *((chunk, 0.5) for chunk in both)]
    lexical = [(2, 9.0), *((chunk, 5.0) for chunk in both)]
    legs: list[Ranking] = [dense, lexical]
    fused = fuse(legs)
    assert not {1, 2} & {chunk for chunk, _ in fused[:10]}
    assert {1, 2} <= set(shortlist(fused, legs, size=10, reserve=2))
    assert not {1, 2} & set(shortlist(fused, legs, size=10, reserve=0))


@given(rankings, st.integers(1, 20), st.integers(0, 10))
def test_a_shortlist_keeps_the_fused_order_and_its_size(legs: list[Ranking], size: int, reserve: int) -> None:
    fused = fuse(legs)
    short = shortlist(fused, legs, size, reserve)
    assert len(short) == min(size, len(fused))
    assert short == [chunk for chunk, _ in fused if chunk in set(short)]
