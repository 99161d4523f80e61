"""Evidence under a budget of tokens, counted by the packaged tokenizer: never above it, and nearly all of it used."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources

import pytest
from tokenizers import Tokenizer

from recalld.episodes.evidence import Dropped, Evidence, Order, Passage, Stance, assemble, render
from recalld.recall.answer import Judged
from tests.support.judged import judged

CASES = 500
WORDS = """
queue ledger cache retry token schema replica deploy region budget latency broker session berth harbour tide
customer invoice nightly rotation 17 90 UTC Kafka NATS Postgres idempotency-key retry_limit façade größer 東京
https://example.org/a/b?c=1 `recall ask` the of and with which is are kept until every
""".split()  # noqa: SIM905


@cache
def _tokenizer() -> Tokenizer:
    made = Tokenizer.from_str((resources.files("recalld.data") / "minilm" / "tokenizer.json").read_text("utf-8"))
    made.no_truncation()
    made.no_padding()
    return made


def count(text: str) -> int:
    return len(_tokenizer().encode(text).ids)


def passage(dice: random.Random, words: int) -> str:
    """Sentences, items, headings or one run of words without an end."""
    if dice.random() < 0.1:
        return " ".join(dice.choices(WORDS, k=words))
    lines: list[str] = []
    left = words
    while left > 0:
        length = min(left, dice.randint(3, 40))
        sentence = " ".join(dice.choices(WORDS, k=length)).capitalize() + dice.choice([".", "!", "?", ""])
        lines.append(dice.choice(["", "", "", "- ", "1. ", "## "]) + sentence)
        left -= length
    joint = dice.choice(["\n", "\n\n", " "])
    return joint.join(lines)


def case(seed: int) -> tuple[list[Judged], int, Order]:
    """Hits of all lengths, some twice, some overlapping, and a budget."""
    dice = random.Random(seed)
    hits: list[Judged] = []
    for number in range(dice.choice([0, 1, 2, 5, 12, 24, 60])):
        kind = dice.random()
        if hits and kind < 0.1:
            hits.append(judged(number, dice.choice(hits).hit.chunk.text))
        elif hits and kind < 0.25:
            before = dice.choice(hits).hit.chunk
            lines = before.text.split("\n")
            skipped = dice.randrange(len(lines))
            text = "\n".join([*lines[skipped:], passage(dice, dice.randint(5, 80))])
            hits.append(judged(number, text, document=before.document_id, first=before.lines[0] + skipped))
        else:
            words = dice.choice([3, 12, 40, 120, 300, 900])
            heading = tuple(" ".join(dice.choices(WORDS, k=3)) for _ in range(dice.randrange(3)))
            hits.append(judged(number, passage(dice, words), heading=heading))
    return hits, dice.choice([8, 64, 130, 200, 350, 800, 1_500, 4_000, 16_000]), dice.choice(list(Order))


def enough(hits: Sequence[Judged], budget: int) -> bool:
    """Tell whether there is so much distinct evidence that a budget can be filled."""
    texts = {hit.hit.chunk.text for hit in hits}
    return budget >= 200 and sum(map(count, texts)) >= 2 * budget


def checked(evidence: Evidence, hits: Sequence[Judged], budget: int) -> None:
    """What always holds of evidence."""
    assert evidence.text == render(evidence.passages)
    assert evidence.tokens == (count(evidence.text) if evidence.passages else 0)
    assert evidence.tokens <= budget
    assert [one.number for one in evidence.passages] == list(range(1, len(evidence.passages) + 1))
    told = [one.judged.hit.chunk.id for one in (*evidence.passages, *evidence.dropped)]
    assert sorted(told) == [hit.hit.chunk.id for hit in hits]
    assert all(one.why in ("duplicate", "budget", "metadata") and one.reason for one in evidence.dropped)
    best = sorted(evidence.passages, key=lambda one: hits.index(one.judged))
    for place, one in enumerate(best):
        assert one.cut == one.text.endswith(" […]") == one.label.endswith(" · cut")
        source = one.judged.hit.chunk
        letters = _letters(one.text.removesuffix(" […]"))
        assert letters
        assert any(_letters(text).startswith(letters) for text in (source.text, _rest(one, best[:place])))


def _letters(text: str) -> str:
    return "".join(re.findall(r"\w", text))


def _rest(passage: Passage, before: Sequence[Passage]) -> str:
    """What of a passage's source no better passage of its document shows."""
    chunk = passage.judged.hit.chunk
    shown = [one.judged.hit.chunk.lines for one in before if one.judged.hit.chunk.document_id == chunk.document_id]
    lines = enumerate(chunk.text.split("\n"), chunk.lines[0])
    return "\n".join(line for number, line in lines if not any(first <= number <= last for first, last in shown))


def test_a_budget_is_never_exceeded_and_nearly_all_of_it_used() -> None:
    full = 0
    for seed in range(CASES):
        hits, budget, order = case(seed)
        evidence = assemble(hits, budget, count, order)
        checked(evidence, hits, budget)
        if enough(hits, budget):
            full += 1
            assert evidence.tokens >= 0.9 * budget, (seed, evidence.tokens, budget)
    assert full > CASES / 5


def by_bytes(text: str) -> int:
    """A count that is no sum of parts: runs of one character are one token."""
    return len(re.findall(r"(.)\1*", text, re.DOTALL)) + 3


@pytest.mark.parametrize("counting", [by_bytes, len, lambda text: len(text.split()) ** 2])
def test_whatever_counts_is_obeyed(counting: Callable[[str], int]) -> None:
    for seed in range(60):
        hits, budget, order = case(seed)
        evidence = assemble(hits, budget, counting, order)
        assert evidence.passages == [] or counting(evidence.text) <= budget
        assert len(evidence.passages) + len(evidence.dropped) == len(hits)


def test_a_passage_that_is_too_long_is_cut_at_a_sentence_and_says_so() -> None:
    sentence = "The ledger keeps every transfer for ninety days before it is archived."
    evidence = assemble([judged(1, " ".join([sentence] * 30))], 200, count)
    [one] = evidence.passages
    assert one.cut
    assert one.label == "[1] memory:notes/1.md:1-1 · ok · cut"
    assert one.text == " ".join([sentence] * one.text.count("ledger")) + " […]"
    assert 180 <= evidence.tokens <= 200


def test_what_has_no_sentence_or_word_to_cut_at_is_cut_anyway() -> None:
    [words] = assemble([judged(1, "queue " * 900)], 100, count).passages
    [letters] = assemble([judged(1, "x9" * 900)], 100, len).passages
    assert words.cut
    assert letters.cut
    assert "x9x9x9".startswith(letters.text[:6])


def test_a_budget_too_small_for_a_label_has_no_evidence() -> None:
    evidence = assemble([judged(1, "The limit is 17.")], 8, count)
    assert (evidence.passages, evidence.text, evidence.tokens, evidence.stance) == ([], "", 0, Stance.NONE)
    assert [one.why for one in evidence.dropped] == ["budget"]


def test_a_later_short_passage_fits_where_a_long_one_does_not() -> None:
    long = judged(2, "One more. " * 90, heading=("Of", "many", "words") * 9)
    hits = [judged(1, "One. " * 20), long, judged(3, "The limit is 17.")]
    evidence = assemble(hits, 110, count)
    assert [one.judged.hit.chunk.id for one in evidence.passages] == [1, 3]
    assert _why(evidence.dropped) == {2: "budget"}


def test_duplicates_and_bare_frontmatter_are_left_out() -> None:
    text = "The ledger keeps every transfer for ninety days, after which the archive job moves it to cold storage."
    front = judged(2, "---\nstatus: accepted\n---")
    hits = [judged(1, text), front, judged(3, text.upper())]
    evidence = assemble(hits, 500, count)
    assert [one.judged.hit.chunk.id for one in evidence.passages] == [1]
    assert _why(evidence.dropped) == {2: "metadata", 3: "duplicate"}
    assert [one.judged for one in assemble([front], 500, count).passages] == [front]


def test_the_best_stand_at_both_ends() -> None:
    hits = [judged(number, f"Fact {number} is of {name}.") for number, name in enumerate("abcde", 1)]
    evidence = assemble(hits, 500, count, Order.ENDS)
    assert [one.judged.hit.chunk.id for one in evidence.passages] == [1, 3, 5, 4, 2]
    assert evidence.text.startswith("[1] memory:notes/1.md")


@pytest.mark.parametrize(
    ("status", "stance"),
    [
        ("rejected", Stance.NEGATIVE), ("Declined by all", Stance.NEGATIVE), ("withdrawn", Stance.NEGATIVE),
        ("proposed", Stance.SUPPORTS), ("accepted", Stance.SUPPORTS), ("", Stance.SUPPORTS),
    ],
)  # fmt: skip
def test_what_was_turned_down_says_that_it_is_not_so(status: str, stance: Stance) -> None:
    hits = [judged(1, "Move to Redis.", metadata={"status": status}), judged(2, "Something else entirely.")]
    evidence = assemble(hits, 500, count, question="Shall we move to Redis?")
    assert evidence.stance is stance
    assert (f"status: {status}" in evidence.text) == bool(status)
    for question in ("When do we move to Redis?", "Is the harbour deep?"):
        assert assemble(hits, 500, count, question=question).stance is Stance.SUPPORTS
    assert assemble(hits[::-1], 500, count, question="Shall we move to Redis?").stance is Stance.SUPPORTS


def _why(dropped: Sequence[Dropped]) -> dict[int, str]:
    return {one.judged.hit.chunk.id: one.why for one in dropped}
