"""What is measured of one task, and where it was lost: by hand, on an index of a few passages."""

from __future__ import annotations

from typing import Any

import pytest

from recalld.evaluate.case import Case, judge
from recalld.evaluate.loss import Loss, lost_at
from recalld.evaluate.observation import Observation, Stage
from recalld.evaluate.scores import compare, score
from recalld.evaluate.tasks import Task
from tests.support.evaluating import catalogue, observation

FILES = {"a.md": ["alpha one", "alpha two"], "b.md": ["beta"], "c.md": ["gamma"], "d.md": ["delta"]}
A1, A2, B, C, D = 1, 2, 3, 4, 5
INDEX = catalogue(FILES)


def task(**fields: Any) -> Task:
    return Task.model_validate({"id": "t", "query": "what?", "gold": ["a.md"], **fields})


def case(one: Task, seen: Observation, k: int = 2) -> Case:
    return judge(one, "test", seen, INDEX, k)


def test_each_stage_is_measured_by_its_documents() -> None:
    seen = observation(retrieved=[B, C, A1, A2], fused=[B, A1, A2, C], reranked=[A2, A1, B])
    found = case(task(gold=["a.md", "c.md"]), seen)
    assert found.documents[Stage.FUSED] == ("b.md", "a.md", "c.md")
    assert found.ranked[Stage.RETRIEVED]["hit@2"] == 1.0
    assert found.ranked[Stage.RETRIEVED]["MRR"] == 0.5
    assert found.ranked[Stage.RETRIEVED]["recall@2"] == 0.5
    assert found.ranked[Stage.ADMITTED]["precision@2"] == 0.5
    assert found.ranked[Stage.ADMITTED]["MRR"] == 1.0


def test_passages_are_measured_by_characters() -> None:
    # a.md is "alpha one\n\nalpha two\n": the answer is "alpha two", characters 11 to 20.
    one = task(gold=[{"path": "a.md", "span": [11, 20]}])
    assert INDEX.relevant(one) == {A2}
    found = case(one, observation(retrieved=[A1, A2, B])).ranked[Stage.ADMITTED]
    assert found["passage hit@2"] == 1.0
    assert found["span recall@2"] == 1.0
    assert found["span precision@2"] == pytest.approx(9 / 18)
    assert found["span IoU@2"] == pytest.approx(9 / 18)
    assert case(one, observation(retrieved=[A1, B])).ranked[Stage.ADMITTED]["span recall@2"] == 0.0
    by_line = task(gold=[{"path": "a.md", "lines": [3, 3]}])
    assert INDEX.relevant(by_line) == {A2}


def test_a_budget_of_context_cuts_the_last_passage() -> None:
    index = catalogue({"a.md": ["one", "two", "three", "four"]}, tokens=400)
    # Characters 0 to 3, 5 to 8, and of "three", from 10 to 15, the half that is left: 2 characters of 5, rounded.
    assert index.shown_within([1, 2, 3, 4], 1_000) == {"a.md": [(0, 3), (5, 8), (10, 12)]}
    one = task(gold=[{"path": "a.md", "span": [10, 14]}])
    found = judge(one, "test", observation(retrieved=[1, 2, 3]), index, 3).ranked[Stage.ADMITTED]
    assert (found["span recall@3"], found["span recall in 1000 tokens"]) == (1.0, 0.5)


def test_an_answer_is_right_by_gold_and_by_what_it_leaves_out() -> None:
    right = case(task(stale=["b.md"]), observation(retrieved=[A1, C])).answered
    assert (right["right"], right["decision"], right["successor first"], right["supersession correct"]) == (1, 1, 1, 1)
    late = case(task(stale=["b.md"]), observation(retrieved=[C, A1])).answered
    assert (late["right"], late["decision"], late["successor first"]) == (1, 0, 0)
    stale = case(task(stale=["b.md"]), observation(retrieved=[A1, B])).answered
    assert (stale["right"], stale["stale served"], stale["supersession correct"]) == (0, 1, 0)
    said = case(task(forbidden=["GAMMA"]), observation(retrieved=[A1, C])).answered
    assert (said["right"], said["forbidden served"]) == (0, 1)
    low = case(task(), observation(retrieved=[B, C, A1])).answered
    assert (low["right"], low["source recall"], low["source precision"]) == (0, 1, pytest.approx(1 / 3))


def test_required_texts_stand_for_gold_where_there_is_none() -> None:
    both = task(gold=[], required=["alpha one", "beta"])
    assert case(both, observation(retrieved=[A1, B])).answered["right"] == 1.0
    half = case(both, observation(retrieved=[A1])).answered
    assert (half["right"], half["required recalled"]) == (0.0, 0.5)


def test_what_only_forbids_is_right_in_silence() -> None:
    forbids = task(gold=[], forbidden=["beta"])
    assert case(forbids, observation(retrieved=[A1], answered=[])).answered["right"] == 1.0
    assert case(forbids, observation(retrieved=[A1])).answered["right"] == 1.0
    assert case(forbids, observation(retrieved=[B])).answered["right"] == 0.0
    assert "false abstain" not in case(forbids, observation(retrieved=[B])).answered


def test_silence_is_right_only_where_nothing_can_be_known() -> None:
    unknown = task(gold=[], answerable=False)
    silent = observation(retrieved=[A1], answered=[])
    assert case(unknown, silent).answered == {
        "context tokens": 0.0, "false confident": 0.0, "right": 1.0, "decision": 1.0
    }  # fmt: skip
    assert case(unknown, observation(retrieved=[A1])).answered["false confident"] == 1.0
    assert case(task(), silent).answered["false abstain"] == 1.0
    assert case(unknown, silent).ranked[Stage.ADMITTED] == {}


def test_a_time_makes_it_temporal() -> None:
    assert "temporal accuracy" not in case(task(), observation(retrieved=[A1])).answered
    dated = case(task(as_of="2024-05-01"), observation(retrieved=[A1])).answered
    assert dated["temporal accuracy"] == 1.0


@pytest.mark.parametrize(
    ("fields", "seen", "loss"),
    [
        ({}, observation(retrieved=[A1]), Loss.NONE),
        ({"gold": ["gone.md"]}, observation(retrieved=[A1]), Loss.NOT_INDEXED),
        ({}, observation(retrieved=[B, C]), Loss.NOT_RETRIEVED),
        ({}, observation(retrieved=[B, C, A1], fused=[B, C, D], reranked=[B, C, D]), Loss.FUSION),
        ({}, observation(retrieved=[A1, B, C], reranked=[B, C, A1]), Loss.RERANK),
        ({}, observation(retrieved=[A1, B, C], fused=[B, C, A1]), Loss.FUSION),
        ({}, observation(retrieved=[B, A1], admitted=[B]), Loss.BUDGET),
        ({}, observation(retrieved=[A1], answered=[], withheld={A1: "expired"}), Loss.INVALID),
        ({}, observation(retrieved=[A1], answered=[], withheld={A1: "low_confidence"}), Loss.ABSTAINED),
        ({"stale": ["b.md"]}, observation(retrieved=[A1, B]), Loss.WRONG),
        ({"gold": [], "answerable": False}, observation(retrieved=[A1]), Loss.WRONG),
        ({"gold": [], "answerable": False}, observation(retrieved=[A1], answered=[]), Loss.NONE),
        ({"gold": [], "required": ["beta"]}, observation(retrieved=[A1]), Loss.WRONG),
        ({"gold": [], "required": ["beta"]}, observation(retrieved=[A1], answered=[]), Loss.ABSTAINED),
    ],
)
def test_where_it_was_lost(fields: dict[str, Any], seen: Observation, loss: Loss) -> None:
    assert lost_at(case(task(**fields), seen), INDEX, 2) is loss


def test_scores_count_each_measure_over_the_tasks_that_have_it() -> None:
    cases = [
        case(task(id="1", category="x"), observation(retrieved=[A1], confidence=0.9)),
        case(task(id="2", category="x"), observation(retrieved=[B, C], confidence=0.2)),
        case(task(id="3", gold=[], answerable=False), observation(retrieved=[B], answered=[], confidence=0.1)),
    ]
    rung = score("test", cases, seed=0)
    assert (rung.ranked[Stage.ADMITTED]["hit@2"].value, rung.ranked[Stage.ADMITTED]["hit@2"].count) == (0.5, 2)
    assert (rung.answered["right"].value, rung.answered["right"].count) == (pytest.approx(2 / 3), 3)
    assert rung.answered["false confident"].count == 1
    assert rung.by_category["x"].value == 0.5
    assert (rung.confidence.calibrated, rung.confidence.auroc) == (True, 1.0)


def test_rungs_are_compared_task_by_task() -> None:
    seen = {"low": observation(retrieved=[B, A1]), "high": observation(retrieved=[A1, B])}
    cases = {name: [case(task(id=str(n)), one) for n in range(30)] for name, one in seen.items()}
    [mrr] = [one for one in compare(cases, 2, seed=0) if one.metric.startswith("MRR")]
    assert (mrr.condition, mrr.baseline, mrr.difference.value) == ("high", "low", 0.5)
    assert mrr.difference.low > 0
    assert mrr.difference.chance < 0.01
