"""Answers made of quotes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from recalld.embed.hashing import HashingEmbedder
from recalld.episodes.citing import check
from recalld.episodes.evidence import assemble
from recalld.episodes.extract import extract
from recalld.episodes.form import form_of
from recalld.model import Vector
from recalld.recall.answer import Judged
from recalld.trust.verdict import Verdict
from tests.support.judged import judged

REJECTED = {"status": "rejected"}


async def quoted(question: str, *hits: Judged) -> str:
    embedder = HashingEmbedder()

    async def embed(texts: Sequence[str]) -> Sequence[Vector]:
        return [each.pooled for each in await embedder.embed_documents(list(texts))]

    evidence = assemble(hits, 2_000, lambda text: len(text.split()))
    vector = np.asarray((await embedder.embed_query(question)).pooled)
    answer = await extract(question, vector, form_of(question), evidence, embed)
    assert not answer or check(answer, {one.number: f"{one.label}\n{one.text}" for one in evidence.passages}).stands
    return answer


async def test_the_sentence_that_speaks_of_it_is_quoted() -> None:
    hit = judged(1, "# Rates\n\nTides are high. Each client may send ninety requests. Gulls nest in May.")
    answer = await quoted("How many requests may a client send?", hit)
    assert answer == "“Each client may send ninety requests.” [1]"


async def test_a_list_has_an_item_for_each() -> None:
    hit = judged(1, "- The bookings queue takes bookings.\n- The invoices queue takes invoices.\n- Tea is at four.")
    answer = await quoted("Which queues do we have?", hit)
    assert answer.splitlines() == [
        "- “The bookings queue takes bookings.” [1]",
        "- “The invoices queue takes invoices.” [1]",
    ]


async def test_what_was_turned_down_says_so_wherever_it_ranks() -> None:
    adopted = judged(1, "Gulls nest on the roof of the shed.")
    turned_down = judged(2, "Use Redis as the cache.", metadata=REJECTED)
    answer = await quoted("Do we use Redis as the cache?", adopted, turned_down)
    assert answer == "The memory has this as turned down: “Use Redis as the cache.” [2]"


async def test_what_was_adopted_is_not_turned_down_by_a_better_hit() -> None:
    turned_down = judged(1, "Gulls nest on the roof of the shed.", metadata=REJECTED)
    adopted = judged(2, "Use Redis as the cache.")
    assert await quoted("Do we use Redis as the cache?", turned_down, adopted) == "“Use Redis as the cache.” [2]"


async def test_headings_alone_answer_nothing() -> None:
    assert await quoted("What is the limit?", judged(1, "# The limit\n\n## Of what")) == ""


async def test_quotes_within_a_sentence_are_quoted_too() -> None:
    answer = await quoted("What does the sign say?", judged(1, "The sign says “no swimming here” in red."))
    assert "no swimming here" in answer


async def test_where_nothing_vouches_only_what_speaks_of_the_question_is_quoted() -> None:
    unmeasured = judged(1, "Ingrid leads the rota; Tomas stands in for her.", verdict=Verdict.UNVERIFIED)
    assert await quoted("What is the capital of Mongolia?", unmeasured) == ""
    assert await quoted("Who leads the rota?", unmeasured) == "“Ingrid leads the rota; Tomas stands in for her.” [1]"
    assert await quoted("Who leads the rota?", judged(1, "Ingrid is in charge of the plan.")) != ""


async def test_the_last_of_several_questions_is_answered() -> None:
    both = judged(1, "A terminal may make 120 requests a minute. A partner may make 600 requests a minute.")
    answer = await quoted("How many requests a minute may a terminal make? And a partner?", both)
    assert answer.startswith("“A partner may make 600 requests a minute.” [1]")


@pytest.mark.parametrize(
    "turn",
    ["However, partners may send nine hundred.", "But not at night.", "Unless they are over their quota.",
     "**Except** on Sundays.", "This is no longer so since June.", "Still, ask first.", "It's no longer enforced."],
)  # fmt: skip
async def test_what_takes_a_sentence_back_is_quoted_with_it(turn: str) -> None:
    hit = judged(1, f"Tides are high. Each client may send ninety requests. {turn} Gulls nest in May.")
    answer = await quoted("How many requests may a client send?", hit)
    assert answer == f"“Each client may send ninety requests. {turn}” [1]"


async def test_what_stands_in_another_paragraph_takes_nothing_back() -> None:
    hit = judged(1, "Each client may send ninety requests.\n\nButter is in the fridge.\n\nHowever, gulls nest in May.")
    assert await quoted("How many requests may a client send?", hit) == "“Each client may send ninety requests.” [1]"
