"""Which answer counts: memory's own, or the one that was just derived."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recalld.episodes.freshness import Standing
from recalld.episodes.lookup import Found
from recalld.episodes.reconcile import Derived, Reconciled, reconcile
from recalld.store.episodes import Episode
from tests.support.judged import AT

EARLIER = Episode(
    key="k", generation_id=1, question="What is the limit?", normal="what is the limit", gist="", asks="what",
    scope="single", answer="The limit is 17 [1].", answerer="extractive", confidence=0.8, negative=False, citations=[],
    sources=[], floor=None, as_of=None, known_as_of=None, agent="a", at=AT, indexed_at=AT,
    vector=np.zeros(2, np.float32),
)  # fmt: skip


def weighed(answer: str, confidence: float | None, *, fits: float = 1.0, stale: str = "", **fields: int) -> Reconciled:
    found = Found(replace(EARLIER, **fields), 1.0, fits, standing=Standing(stale))
    made = reconcile(found, Derived(answer, confidence))
    assert made is not None
    return made


def test_nothing_in_memory_is_nothing_to_weigh() -> None:
    assert reconcile(Found(), Derived("x", 0.9)) is None


@pytest.mark.parametrize("confidence", [None, 0.1, 0.9])
def test_what_no_longer_stands_has_lost(confidence: float | None) -> None:
    made = weighed("The limit is 19 [1].", confidence, stale="changed")
    assert (made.earlier, made.differs) == (False, True)
    assert not weighed("the limit is 17 [2]", confidence, stale="changed").differs


def test_the_same_words_under_other_numbers_agree() -> None:
    made = weighed("“THE limit\nis 17” [3]", 0.1)
    assert (made.earlier, made.differs, made.why) == (False, False, "both say the same")


@pytest.mark.parametrize(
    ("confidence", "fits", "marks", "earlier"),
    [
        (0.5, 1.0, {}, True),
        (None, 1.0, {}, True),
        (0.75, 1.0, {}, False),
        (0.9, 1.0, {}, False),
        (0.5, 0.5, {}, False),
        (0.5, 1.0, {"failed": 1}, False),
        (0.5, 1.0, {"failed": 1, "helped": 1}, True),
        (0.5, 1.0, {"corrected": 2, "helped": 1}, False),
    ],
)
def test_what_is_surer_then_what_is_newer(
    confidence: float | None, fits: float, marks: dict[str, int], earlier: bool
) -> None:
    made = weighed("The limit is 19 [1].", confidence, fits=fits, **marks)
    assert (made.earlier, made.differs) == (earlier, True)


def test_another_question_s_answer_does_not_count_for_more_than_it_fits() -> None:
    assert not weighed("Guests may have 3 [1].", 0.3, fits=0.2).earlier
