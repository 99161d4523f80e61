"""Passages in sentences."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.episodes.sentences import bare, pieces, sentences


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("It wraps\nover lines. And\nends.", ["It wraps over lines.", "And ends."]),
        ("Version 1.2.3 is out. It runs.", ["Version 1.2.3 is out.", "It runs."]),
        ("See e.g. Redis. Then stop.", ["See e.g. Redis.", "Then stop."]),
        ("Ask Dr. Kim or J. Doe. They know.", ["Ask Dr. Kim or J. Doe.", "They know."]),
        ("He said “Stop.” Then he left.", ["He said “Stop.", "Then he left."]),
        ("Is *it.* Next", ["Is *it.", "Next"]),
        ("- one\n- two\n  more\n3. three", ["- one", "- two more", "3. three"]),
        ("# Head\nText here.", ["# Head", "Text here."]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["| a | b |", "| 1 | 2 |"]),
        ("Above\n\n---\n\nbelow", ["Above", "below"]),
        ("```sh\nrun it\n```", ["run it"]),
        ("a.b.c does not split. ok", ["a.b.c does not split. ok"]),
        ("一つ。二つ。", ["一つ。", "二つ。"]),
        ("\r\n \t\r\nOne.\r\nTwo.", ["One.", "Two."]),
    ],
)
def test_sentences_items_and_rows(text: str, parts: list[str]) -> None:
    found = sentences(text)
    assert [re.sub(r"[”*]+$", "", part) for part in found] == parts


@given(st.text(alphabet=st.sampled_from("aB1 .!?\n-#|*`”“。…é"), max_size=120))
def test_no_word_is_lost_but_rules(text: str) -> None:
    rule = re.compile(r"^\s*(?:[-=*_]{3,}|```.*|~~~.*|\|?[\s:|-]+\|?)\s*$")
    kept = [line for line in text.splitlines() if not rule.match(line)]
    words = re.findall(r"\w+", "\n".join(kept))
    assert re.findall(r"\w+", "\n".join(sentences(text))) == words
    assert all(part == part.strip() and part for part in sentences(text))


@pytest.mark.parametrize(
    ("sentence", "plain"),
    [("- one", "one"), ("12) two", "two"), ("## Head", "Head"), ("plain", "plain"), ("-5 degrees", "-5 degrees")],
)
def test_marks_are_taken_off(sentence: str, plain: str) -> None:
    assert bare(sentence) == plain


@pytest.mark.parametrize(
    "text",
    [
        "# Title\n\nOne *two*. Three\nfour (e.g. five). “Six.” Seven\n\n- eight\n- nine 9.5\n\n```sh\nten\n```\nEleven",
        "no end",
        "???",
        "",
    ],
)
def test_pieces_are_the_passage_as_it_stands(text: str) -> None:
    made = "".join(pieces(text))
    assert text.startswith(made)
    assert [c for c in made if c.isalnum()] == [c for c in "".join(sentences(text)) if c.isalnum()] or "```" in text
    assert not any(piece.rstrip()[-1:].isspace() for piece in pieces(text))


def test_a_cut_never_parts_a_sentence_from_what_takes_it_back() -> None:
    text = "Ask first. Ninety are allowed.\nHowever, not at night. Unless it burns. Gulls nest."
    assert pieces(text) == [
        "Ask first.", " Ninety are allowed.\nHowever, not at night. Unless it burns.", " Gulls nest.",
    ]  # fmt: skip


def test_a_label_stays_with_what_it_names_and_marks_stay_where_they_are() -> None:
    assert sentences("**Why we said no.** There is one team. It has five people.") == [
        "**Why we said no.** There is one team.",
        "It has five people.",
    ]
    assert sentences('He said "no." Then he left (at last.) Nobody came.') == [
        'He said "no."',
        "Then he left (at last.)",
        "Nobody came.",
    ]
