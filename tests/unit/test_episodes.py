"""The labelled pairs of questions: enough of each relation and topic, labelled without contradiction, none twice."""

from __future__ import annotations

import json
from collections import Counter
from importlib.resources import files
from typing import Any

import pytest

FIELDS = {"topic": str, "first": str, "second": str, "relation": str, "serve": bool}
SHARES = {"paraphrase": 0.45, "near_miss": 0.20, "scope_mismatch": 0.15, "negated": 0.12, "unrelated": 0.08}


@pytest.fixture(scope="module")
def pairs() -> list[dict[str, Any]]:
    text = (files("recalld") / "data" / "episodes.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_every_pair_has_the_fields_and_no_others(pairs: list[dict[str, Any]]) -> None:
    for pair in pairs:
        assert {name: type(value) for name, value in pair.items()} == FIELDS
        assert all(value == value.strip() and value for value in pair.values() if isinstance(value, str))


def test_relations_have_their_shares(pairs: list[dict[str, Any]]) -> None:
    counts = Counter(pair["relation"] for pair in pairs)
    assert len(pairs) >= 420
    assert counts.keys() == SHARES.keys()
    for relation, share in SHARES.items():
        assert counts[relation] / len(pairs) == pytest.approx(share, abs=0.02), relation


def test_every_topic_has_every_relation(pairs: list[dict[str, Any]]) -> None:
    topics: dict[str, Counter[str]] = {}
    for pair in pairs:
        topics.setdefault(pair["topic"], Counter())[pair["relation"]] += 1
    assert len(topics) >= 14
    for topic, counts in topics.items():
        assert counts.total() >= 30, topic
        assert counts.keys() == SHARES.keys(), topic


def test_an_answer_is_served_to_paraphrases_alone(pairs: list[dict[str, Any]]) -> None:
    assert all(pair["serve"] == (pair["relation"] == "paraphrase") for pair in pairs)


def test_no_question_is_there_twice(pairs: list[dict[str, Any]]) -> None:
    counts = Counter(question.casefold() for pair in pairs for question in (pair["first"], pair["second"]))
    assert [question for question, count in counts.items() if count > 1] == []
