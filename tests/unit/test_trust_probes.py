import random

import pytest

from recalld.trust.probes import MAX_WORDS, Origin, Passage, answerable, bank, sentences

TEXT = """## Why the queue moved

---
status: accepted
We moved the queue to Postgres because a lost job cost us a weekend. See **below** for [the numbers](n.md) we measured.

    indented_code = "this is never asked for by anyone at all"

```python
print("neither is this one sentence in a fence, whatever it says")
```

| a table | has cells that are not sentences either |
> A quotation of somebody else is left out as well.

- Each worker takes one row at a time and marks it done.
- Short one.
- 2024-01-02 12:33:01 0x7f00 512 99 1 88 44 71 02 11
"""


def passage(path: str, text: str = TEXT, title: str = "The queue lives in Postgres") -> Passage:
    return Passage(path, title, ("3. Why the queue moved",), text)


def test_sentences_are_prose_and_nothing_else() -> None:
    assert list(sentences(TEXT)) == [
        "We moved the queue to Postgres because a lost job cost us a weekend.",
        "See below for the numbers we measured.",
        "Each worker takes one row at a time and marks it done.",
    ]


def test_a_sentence_that_goes_on_for_too_long_is_left_out() -> None:
    assert list(sentences(f"{'word ' * MAX_WORDS}word.")) == []


def test_names_come_without_numbers_and_short_ones_not_at_all() -> None:
    made = answerable([passage("a.md", "", "ADR-0012: Keep the queue in Postgres")], random.Random(1), 10)
    assert [probe.query for probe in made] == ["Keep the queue in Postgres", "Why the queue moved"]
    assert {probe.origin for probe in made} == {Origin.NAME}
    assert answerable([Passage("b.md", "Overview", ("Notes",), "")], random.Random(1), 10) == []


@pytest.mark.parametrize("title", ["60 requests a minute for each key", "3 ways to lose a mail"])
def test_a_number_that_belongs_to_the_name_stays(title: str) -> None:
    assert answerable([Passage("a.md", title, (), "")], random.Random(1), 10)[0].query == title


def test_no_question_is_there_twice_and_the_limit_holds() -> None:
    made = answerable([passage(f"{n}.md") for n in range(10)], random.Random(1), 100)
    assert len(made) == len({probe.query.casefold() for probe in made}) == 5
    assert len(answerable([passage("a.md")], random.Random(1), 2)) == 2


def test_every_document_is_asked_for_before_one_is_twice() -> None:
    long = [
        Passage("long.md", f"Chapter {word} of the handbook", (), "")
        for word in ("one", "two", "three", "four", "five", "six", "seven", "eight")
    ]
    made = answerable([*long, Passage("short.md", "A short but proper title", (), "")], random.Random(1), 2)
    assert {probe.subject for probe in made} == {"long.md", "short.md"}


def test_chance_is_an_argument() -> None:
    passages = [Passage(f"{n}.md", f"Title of the document {'x' * n}", (), TEXT) for n in range(30)]
    assert answerable(passages, random.Random(1), 9) == answerable(passages, random.Random(1), 9)
    assert answerable(passages, random.Random(1), 9) != answerable(passages, random.Random(2), 9)


def test_the_bank_is_wide_and_each_part_of_it_is_so_too() -> None:
    questions = bank()
    assert len(questions) >= 240
    assert len({probe.query.casefold() for probe in questions}) == len(questions)
    subjects = {probe.subject for probe in questions}
    assert len(subjects) >= 30
    assert {probe.subject for probe in questions[: len(subjects)]} == subjects
    assert not any(probe.answerable for probe in questions)
