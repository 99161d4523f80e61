"""Follow-up questions, made to stand alone."""

from __future__ import annotations

import pytest

from recalld.episodes.followup import leans, standalone

EARLIER = "How long do sessions last in production?"


@pytest.mark.parametrize(
    "question",
    [
        "And on staging?", "what about staging", "Why?", "how come it does?", "why not?", "who decided that?",
        "When did they change it?", "Is it shared?", "what else?", "And for guests?", "since when", "for example?",
        "Are those encrypted?", "But why?", "and who owns it",
    ],
)  # fmt: skip
def test_what_leans_on_what_was_said(question: str) -> None:
    assert leans(question)
    assert standalone(question, EARLIER) == f"How long do sessions last in production? {question}"


@pytest.mark.parametrize(
    "question",
    [
        "How long are access logs kept?",
        "Which message broker do we use?",
        "What is the reason that we left Kafka?",
        "Is there a limit on uploads?",
        "Where are nightly database backups stored when they fail?",
        "Who owns billing?",
        "Are there rules for deploys?",
    ],
)
def test_what_stands_alone(question: str) -> None:
    assert not leans(question)
    assert standalone(question, EARLIER) == question


def test_the_first_question_leans_on_nothing() -> None:
    assert standalone("And on staging?", None) == "And on staging?"
    assert standalone("And on staging?", "") == "And on staging?"


def test_a_long_history_is_cut() -> None:
    made = standalone("And on staging?", "x" * 5_000)
    assert len(made) < 700
    assert made.endswith("? And on staging?")
