"""Searching again with an imagined passage: real index, real retrieval, a model behind a real local server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime

import pytest

from recalld.embed.hashing import HashingEmbedder
from recalld.episodes.freshness import Freshness
from recalld.episodes.gathering import Gathered, Gathering
from recalld.episodes.steps import Steps
from recalld.episodes.writing import Generating, Quoting
from recalld.model import Filters, Mode, RankedChunk, Vector
from recalld.recall.answer import Answering, Question
from recalld.settings import RecallSettings
from recalld.trust.receipts import Citation
from recalld.trust.verdict import Moment
from recalld_plugins.openai_answerer import answerer
from tests.support.chat_api import ChatApi, Respond, chat_api, raw, saying
from tests.support.indexing import Index, an_index

NOW = datetime(2026, 8, 19, tzinfo=UTC)
QUESTION = "who tends the beacon"
LONG = " ".join(
    f"Entry {number} of the log speaks of ropes, tar and barrels in store {number}." for number in range(12)
)
MEMORY = {
    **{f"notes/n{number}.md": f"# Note {number}\n\nwho tends number{number}\n".encode() for number in range(30)},
    "keeper.md": f"# Keeper\n\nMarta tends the beacon. {LONG}\n".encode(),
    "wharf.md": b"# Wharf\n\nBarrels and ropes are kept at the wharf.\n",
}
WHARF = "Barrels and ropes are kept at the wharf."
SURE = 0.9
IMAGINED = "In the log of the store the entry speaks of ropes, tar and barrels."


def sure(hits: Sequence[RankedChunk]) -> Sequence[float]:
    """Only what late interaction finds near in most words of the question is sure."""
    return [SURE if hit.scores.get("maxsim", 0.0) > 0.55 else 0.2 for hit in hits]


@pytest.fixture
async def index(postgres: str) -> AsyncIterator[Index]:
    async with an_index(postgres, HashingEmbedder()) as made:
        await made.add(MEMORY)
        yield made


async def gather(
    index: Index,
    api: ChatApi,
    *,
    hyde: bool = True,
    question: str = QUESTION,
    model: bool = True,
    mode: Mode = Mode.DENSE,
) -> tuple[Gathered, Steps]:
    async def embed(texts: Sequence[str]) -> Sequence[Vector]:
        raise AssertionError("nothing is quoted here")

    async def on_disk(sources: Sequence[Citation]) -> Mapping[Citation, bool]:
        return dict.fromkeys(sources, True)

    async def caught_up(sources: Sequence[Citation]) -> bool:
        raise AssertionError("nothing changed")

    own = answerer({"model": "small", "base_url": api.url})
    quoting = Quoting(embed)
    steps = Steps()
    gathering = Gathering(
        Answering(index.retriever(RecallSettings(candidates=4)), index.store.standings, sure),
        Freshness(index.store, on_disk, lambda: NOW),
        Generating(own, quoting, hyde) if model else quoting,
        lambda text: len(text.split()),
        caught_up,
    )
    asked = Question(question, 2, mode, Filters(), index.generation.id, Moment(NOW), True)
    try:
        return await gathering.gather(asked, 500, steps), steps
    finally:
        await own.aclose()


def taken(steps: Steps) -> list[str]:
    return [step.name for step in steps.taken]


async def test_an_imagined_passage_finds_what_the_question_missed(index: Index) -> None:
    with chat_api(saying(IMAGINED)) as api:
        gathered, steps = await gather(index, api)
    assert api.asked == ["imagining"]
    assert taken(steps) == ["retrieve", "expand", "evidence"]
    assert steps.taken[1].note.startswith("2 hits hold of what an imagined passage finds")
    best = gathered.answer.hits[0]
    assert best.hit.chunk.path == "keeper.md"
    assert (best.confidence, best.judgement.verdict) == (SURE, "ok")
    assert IMAGINED not in gathered.evidence.text
    assert "Marta tends the beacon" in gathered.evidence.text


async def test_what_it_finds_is_judged_by_the_question_alone(index: Index) -> None:
    with chat_api(saying(WHARF)) as api:
        gathered, steps = await gather(index, api, question="what do hedgehogs eat")
        same, _ = await gather(index, api, question=WHARF, mode=Mode.RERANK)
    assert taken(steps) == ["retrieve", "expand", "evidence"]
    assert steps.taken[1].note.startswith("0 hits hold")
    assert not gathered.evidence.passages
    assert not gathered.answer.hits
    assert same.answer.hits[0].hit.chunk.path == "wharf.md"
    assert api.asked == ["imagining"]


async def test_scores_are_those_that_the_question_gives(index: Index) -> None:
    with chat_api(saying(IMAGINED)) as api:
        gathered, _ = await gather(index, api)
    [chunk] = [one.hit for one in gathered.answer.hits if one.hit.chunk.path == "keeper.md"]
    retriever = index.retriever()
    own = await retriever.retrieve(QUESTION, 40, Mode.RERANK, Filters(), index.generation.id)
    [wanted] = [hit for hit in own.chunks if hit.chunk.id == chunk.chunk.id]
    assert chunk.scores["dense"] == pytest.approx(wanted.scores["dense"])
    assert chunk.scores["maxsim"] == pytest.approx(wanted.scores["maxsim"])


async def test_nothing_is_imagined_where_it_is_not_wanted_or_not_needed(index: Index) -> None:
    with chat_api(saying(IMAGINED)) as api:
        for options in ({"hyde": False}, {"model": False}):
            gathered, steps = await gather(index, api, **options)
            assert taken(steps) == ["retrieve", "evidence"]
            assert not gathered.answer.hits
    assert api.requests == []


@pytest.mark.parametrize(
    ("respond", "said"),
    [
        (raw("no", 400), "imagines nothing: openai refuses the request: HTTP 400"),
        (saying("As an AI language model I cannot imagine things."), "is no passage: it speaks as a model"),
        (saying(""), "is no passage: it is empty"),
    ],
)
async def test_where_nothing_is_imagined_the_gap_stands_and_the_path_says_why(
    index: Index, respond: Respond, said: str
) -> None:
    with chat_api(respond) as api:
        gathered, steps = await gather(index, api)
    assert said in steps.taken[1].note
    assert not gathered.evidence.passages


async def test_a_passage_that_was_cut_off_is_searched_with_to_its_last_full_stop(index: Index) -> None:
    with chat_api(saying(f"{IMAGINED} And then the", "length")) as api:
        gathered, _ = await gather(index, api)
    assert gathered.answer.hits[0].hit.chunk.path == "keeper.md"
