"""Evidence under a budget of tokens, counted by the packaged tokenizer: never above it, and nearly all of it used."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources

import pytest
from tokenizers import Tokenizer

from recalld.episodes.evidence import Dropped, Evidence, Order, Stance, assemble, render
from recalld.recall.answer import Judged
from tests.support.judged import judged

CASES = 500
WORDS = (
    "queue ledger cache retry token schema replica deploy region budget latency broker session berth harbour tide "
    "customer invoice nightly rotation 17 90 UTC Kafka NATS Postgres idempotency-key retry_limit façade größer 東京 "
    "https://example.org/a/b?c=1 `recall ask` the of and with which is are kept until every"
).split()  # fmt: skip  # noqa: SIM905


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
