"""Evidence pooled by document, and the order in which it is shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.recall.pool import Evidence, order, pool
from recalld.store.rows import ChunkOwner


def _owners(**documents: int) -> dict[int, ChunkOwner]:
    """Chunk ids as ``c<id>=<document id>``."""
    return {int(name[1:]): ChunkOwner(document, 0, (1, 1), name) for name, document in documents.items()}


def test_a_document_is_its_best_passage_and_a_share_of_the_next_two() -> None:
    ranking = [(1, 0.9), (2, 0.8), (3, 0.7), (4, 0.6), (5, 0.5), (6, 0.1)]
    owners = _owners(c1=10, c2=20, c3=20, c4=20, c5=20, c6=30)
    found = {evidence.document_id: evidence.score for evidence in pool(ranking, owners, 0.3)}
    assert found[10] == pytest.approx(0.9)
    assert found[20] == pytest.approx(0.8 + 0.3 * ((0.7 - 0.1) + (0.6 - 0.1)) / 2)


def test_more_evidence_wins_over_a_slightly_better_passage() -> None:
    ranking = [(1, 0.90), (2, 0.88), (3, 0.87), (4, 0.86), (5, 0.2)]
    owners = _owners(c1=10, c2=20, c3=20, c4=20, c5=30)
    assert [evidence.document_id for evidence in pool(ranking, owners, 0.3)] == [20, 10, 30]
    assert [evidence.document_id for evidence in pool(ranking, owners, 0.0)] == [10, 20, 30]


def test_chunks_that_are_gone_are_left_out() -> None:
    [evidence] = pool([(1, 0.9), (2, 0.8)], _owners(c2=20), 0.3)
    assert evidence.chunks == ((2, 0.8),)
    assert pool([], {}, 0.3) == []


def test_equal_documents_stay_in_the_rankings_order() -> None:
    owners = _owners(c1=10, c2=20, c3=30)
    for ids in ([1, 2, 3], [3, 1, 2]):
        documents = pool([(chunk, 0.5) for chunk in ids], owners, 0.3)
        assert [evidence.chunks[0][0] for evidence in documents] == ids


scores = st.lists(st.tuples(st.integers(1, 5), st.floats(-1, 1, allow_nan=False)), min_size=1, max_size=30).map(
    lambda rows: sorted(rows, key=lambda row: -row[1])
)


@given(scores, st.floats(-100, 100), st.floats(0, 1))
def test_where_a_stages_scale_begins_makes_no_difference(
    rows: list[tuple[int, float]], offset: float, share: float
) -> None:
    owners = {number: ChunkOwner(document, 0, (1, 1), "") for number, (document, _) in enumerate(rows)}
    here = [(number, round(score, 6)) for number, (_, score) in enumerate(rows)]
    there = [(number, score + offset) for number, score in here]
    before = {evidence.document_id: evidence.score for evidence in pool(here, owners, share)}
    after = {evidence.document_id: evidence.score - offset for evidence in pool(there, owners, share)}
    assert after == pytest.approx(before, abs=1e-9)


@given(scores, st.floats(0, 1))
def test_every_candidate_is_shown_once_best_score_first(rows: list[tuple[int, float]], crowding: float) -> None:
    owners = {number: ChunkOwner(document, 0, (1, 1), "") for number, (document, _) in enumerate(rows)}
    documents = pool([(number, score) for number, (_, score) in enumerate(rows)], owners, 0.3)
    shown = order(documents, crowding)
    assert sorted(chunk for chunk, _ in shown) == list(range(len(rows)))
    assert [score for _, score in shown] == sorted((score for _, score in shown), reverse=True)
    first = list(dict.fromkeys(owners[chunk].document_id for chunk, _ in shown))
    assert first == [evidence.document_id for evidence in documents]  # crowding never turns documents around


def test_further_chunks_of_a_document_are_set_back_by_a_share_of_the_range() -> None:
    documents = [Evidence(10, 1.0, ((1, 0.9), (2, 0.85), (3, 0.84))), Evidence(20, 0.8, ((4, 0.8), (5, 0.4)))]
    assert order(documents, crowding=0.2) == [
        (1, 1.0),
        (2, pytest.approx(0.95 - 0.1)),
        (4, 0.8),
        (3, pytest.approx(0.94 - 0.2)),
        (5, pytest.approx(0.4 - 0.1)),
    ]
    assert [chunk for chunk, _ in order(documents, crowding=0)] == [1, 2, 3, 4, 5]
    assert [chunk for chunk, _ in order(documents, crowding=1)] == [1, 4, 2, 3, 5]
    assert order([], crowding=0.2) == []
