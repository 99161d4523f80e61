"""Which questions may be one: what they turn on must agree, however alike they sound."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.episodes.fit import shipped_pairs
from recalld.episodes.gate import Asked, compare, normal

ALIKE = [
    ("How long do sessions last?", "how long does a session last"),
    ("Why did we leave Kafka?", "What is the reason we left Kafka?"),
    ("Where are backups stored?", "Where do we store our backups?"),
    ("What's the retry limit?", "What is the retry limit"),
    ("Who owns billing?", "who is the owner of billing?"),
    ("How do I rotate a key?", "how are keys rotated"),
    ("Is redis used in production?", "do we use redis in prod"),
    ("Which database do we use?", "which DB is used"),
]
APART = [
    ("How long do sessions last?", "How many sessions last?", "another kind of question"),
    ("Who is told when it fails?", "When is somebody told that it fails?", "another kind of question"),
    ("Which queue do we have?", "Which queues do we have?", "one asks for a list"),
    ("What is the limit of plan 2?", "What is the limit of plan 3?", "a number"),
    ("Is it kept for two days?", "Is it kept for 3 days?", "a number"),
    ("Should I use rebase?", "Should I not use rebase?", "a negation"),
    ("Do we use Redis?", "Don't we use Redis?", "a negation"),
    ("How do I enable the cache?", "How do I disable the cache?", "an opposite"),
    ("What is the maximum size?", "What is the minimum size?", ""),
    ("Do we lint before we push?", "Do we push before we lint?", "the order"),
    ("Did we move from Redis to Kafka?", "Did we move from Kafka to Redis?", ""),
    ("What does run --fast do?", "What does run --slow do?", ""),
    ("What is the limit on staging?", "What is the limit on production?", ""),
    ("Who owns billing?", "Who owns shipping?", "the word"),
    ("What broker does Alice use?", "What broker does Bob use?", "the word"),
    ("Can guests book?", "Can only guests book?", "a limit"),
    ("How long are logs kept?", "How long are access logs kept?", "the word access"),
    ("Is it v1.2?", "Is it v1.3?", "a number"),
]


@pytest.mark.parametrize(("first", "second"), ALIKE)
def test_other_words_for_the_same(first: str, second: str) -> None:
    assert compare(Asked(first), Asked(second)).veto == ""


@pytest.mark.parametrize(("first", "second", "why"), APART)
def test_what_sounds_alike_and_is_not(first: str, second: str, why: str) -> None:
    veto = compare(Asked(first), Asked(second)).veto
    assert veto
    assert why in veto


@pytest.mark.parametrize(("first", "second"), [*ALIKE, *[(first, second) for first, second, _ in APART]])
def test_neither_comes_first(first: str, second: str) -> None:
    assert compare(Asked(first), Asked(second)) == compare(Asked(second), Asked(first))


WORDS = """
what which who when why how many not only all before after to from 2 3 v1.2 --fast session queue queues enable
disable limit staging Redis billing.md don't cannot is does the of
""".split()  # noqa: SIM905


def test_any_question_is_itself_and_comparing_has_no_sides() -> None:
    dice = random.Random(11)
    for _ in range(400):
        first, second = (" ".join(dice.choices(WORDS, k=dice.randint(1, 9))) for _ in range(2))
        itself = compare(Asked(first), Asked(first))
        assert (itself.veto, itself.light) == ("", 0), first
        assert compare(Asked(first), Asked(second)) == compare(Asked(second), Asked(first)), (first, second)


def test_questions_that_may_be_one_have_one_gist_and_what_has_one_gist_differs_in_no_word() -> None:
    for pair in shipped_pairs():
        first, second = Asked(pair.first), Asked(pair.second)
        veto = compare(first, second).veto
        if not veto and first.normal != second.normal:
            assert first.gist == second.gist != "", pair
        if first.gist == second.gist:
            assert not veto.startswith("the word"), pair


@pytest.mark.parametrize("question", ["How does it work?", "", "?", "why " * 200, "What is the limit? " * 40])
def test_what_is_too_common_or_too_long_has_no_gist(question: str) -> None:
    assert Asked(question).gist == ""
    assert compare(Asked(question), Asked(f"{question} now, please")).veto


@given(st.text(max_size=60))
def test_no_text_is_refused(text: str) -> None:
    assert compare(Asked(text), Asked(text)).veto == ""
    assert normal(normal(text)) == normal(text)


def test_the_same_words() -> None:
    assert normal("  What’s the\nLIMIT?! ") == "what's the limit"
    assert normal("is it a.b") != normal("is it ab")
    assert normal("c") != normal("c++")
    assert normal("What does -v do?") != normal("What does -V do?")
    assert normal("what is `Id`?") != normal("what is `ID`")
    assert normal("A well-known `x") == normal("a WELL-KNOWN `X")


def test_long_questions_are_told_apart_in_no_time() -> None:
    long = "run a to b before c " * 400
    assert compare(Asked(long), Asked(f"{long} once")).veto == "its length"
    assert compare(Asked(long), Asked(f" {long.upper()}?")).veto == ""
