"""The legs' scores mixed into the reranker's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.recall.blend import blend

RERANKED = [(1, 0.6), (2, 0.5), (3, 0.4)]


def test_a_chunk_that_all_put_first_scores_one_and_the_worst_of_all_zero() -> None:
    blended = blend(RERANKED, [{1: 0.9, 2: 0.8, 3: 0.1}, {1: 12.0, 2: 1.0, 3: 1.0}], 0.5)
    assert (blended[0], blended[-1]) == ((1, 1.0), (3, 0.0))


def test_two_legs_together_can_outweigh_the_reranker_and_one_cannot() -> None:
    one_sided = {1: 0.0, 2: 0.0, 3: 9.0}
    assert blend(RERANKED, [one_sided, {}], 0.5)[0][0] == 1
    assert blend(RERANKED, [one_sided, {1: 0.0, 2: 0.9, 3: 1.0}], 0.51)[0][0] == 3


def test_a_chunk_that_a_leg_did_not_find_is_as_bad_there_as_the_worst_that_it_found() -> None:
    leg = {1: 5.0, 9: 2.0}
    assert blend(RERANKED, [leg], 0.5) == blend(RERANKED, [{1: 5.0, 2: 2.0, 3: 2.0}], 0.5)


def test_a_leg_that_prefers_nothing_changes_no_order() -> None:
    assert [chunk for chunk, _ in blend(RERANKED, [{}, {1: 3.0, 2: 3.0, 3: 3.0}], 0.5)] == [1, 2, 3]
    assert blend([(1, 0.5), (2, 0.5)], [], 0.5) == [(1, 0.0), (2, 0.0)]
    assert blend([], [{1: 1.0}], 0.5) == []


scores = st.dictionaries(st.integers(1, 9), st.floats(-5, 5).map(lambda value: round(value, 3)), min_size=1)


@given(scores, scores, st.floats(0, 1), st.floats(0.1, 10), st.floats(-10, 10))
def test_each_scores_own_scale_makes_no_difference(
    reranked: dict[int, float], leg: dict[int, float], weight: float, factor: float, offset: float
) -> None:
    ranking = sorted(reranked.items(), key=lambda entry: -entry[1])
    here = dict(blend(ranking, [leg], weight))
    there = dict(blend(ranking, [{chunk: factor * score + offset for chunk, score in leg.items()}], weight))
    assert there == pytest.approx(here, abs=1e-6)
    assert all(0 <= score <= 1 + 1e-9 for score in here.values())
