"""Care for what is remembered: what is junk, what is needless, what is too much."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np

from recalld.episodes.care import care, duplicates, excess
from recalld.episodes.gate import Asked
from recalld.store.episodes import Episode

AT = datetime(2026, 1, 1, tzinfo=UTC)


def episode(id_: int, question: str, direction: float = 0.0, **more: object) -> Episode:
    vector = np.array([np.cos(direction), np.sin(direction)], dtype=np.float32)
    made = Episode(
        key="k", generation_id=1, question=question, normal=question.lower(), gist=Asked(question).gist, asks="what",
        scope="single", answer="Five. [1]", answerer="extractive", confidence=0.9, negative=False, citations=[],
        sources=[], floor=0.5, as_of=None, known_as_of=None, agent="alice", at=AT + timedelta(hours=id_),
        indexed_at=AT, vector=vector, id=id_,
    )  # fmt: skip
    return replace(made, **more)


def test_the_better_of_two_duplicates_is_kept() -> None:
    first = episode(1, "How many tries does a job get?", helped=2)
    second = episode(2, "How many tries do jobs get?", 0.1)
    [found] = duplicates([second, first])
    assert (found.kept.id, found.needless.id) == (1, 2) and found.similarity > 0.99


def test_what_differs_is_no_duplicate() -> None:
    first = episode(1, "How many tries does a job get?")
    assert not duplicates([first, episode(2, "How many tries does a mail get?", 0.1)])
    assert not duplicates([first, episode(2, "How many tries do jobs get?", 0.5)])
    assert not duplicates([first, episode(2, "How many tries do jobs get?", key="other")])


def test_the_worst_and_oldest_go_first() -> None:
    sound = [episode(number, f"Which port has service {number}?") for number in range(1, 6)]
    failed = episode(9, "Which port is open?", failed=1)
    assert excess([*sound, failed], 4, AT) == [9, 1]
    assert excess(sound, 5, AT) == []


def test_junk_is_named_and_is_no_duplicate() -> None:
    junk = episode(1, "How many tries does a job get?", answer="As an AI language model I cannot say.")
    found = care([junk, episode(2, "How many tries do jobs get?")], 10, AT)
    assert [id_ for id_, _ in found.rubbish] == [1] and not found.duplicates and not found.excess


def test_gists_by_other_rules_are_named() -> None:
    sound, old = episode(1, "How many tries does a job get?"), episode(2, "Which port is open?", gist="old")
    assert care([sound, old], 10, AT).gists == {2: Asked("Which port is open?").gist}
