"""From candidates to an answer, over the real parser, store and retrieval. The embedder hashes words."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime

import pytest

from recalld.embed.hashing import HashingEmbedder
from recalld.model import Filters, Mode, RankedChunk
from recalld.recall.answer import Answer, Answering, Confidences, Question
from recalld.trust import wording
from recalld.trust.verdict import Moment
from tests.support.indexing import AT, Index, an_index

NOW = datetime(2026, 8, 19, tzinfo=UTC)
FILLER = {
    f"notes/n{number}.md": f"# Note {number}\n\nNothing about much, part {number}.\n".encode() for number in range(30)
}
MEMORY = {
    "decisions/0003-jobs.md": b"---\nvalid_from: 2023-11-20\n---\n# Jobs in Redis\n\n"
    b"Background jobs go through a Redis list because the library is three lines.\n",
    "decisions/0009-work.md": b"---\nsupersedes: 0003-jobs\nvalid_from: 2025-02-03\n---\n# A table for work\n\n"
    b"Pending work lives in Postgres, taken with SKIP LOCKED.\n\nZebra.\n",
    "rules/freeze.md": b"---\nvalid_from: 2026-07-01\nvalid_until: 2026-07-14\n---\n"
    b"# Freeze\n\nNobody deploys during the regatta.\n",
    "rules/style.md": b"---\nstatus: deprecated\n---\n# Style\n\nTabs indent every python module.\n",
    "rules/half.md": b"---\nvalid_until: soon\n---\n# Halyard\n\nSplice the halyard before storms.\n",
    **FILLER,
}
JOBS = "background jobs redis list library three lines"


@pytest.fixture
async def index(postgres: str) -> AsyncIterator[Index]:
    async with an_index(postgres, HashingEmbedder()) as made:
        await made.add(MEMORY)
        yield made


async def ask(
    index: Index,
    text: str,
    *,
    k: int = 5,
    as_of: datetime = NOW,
    known: datetime | None = None,
    mode: Mode = Mode.RERANK,
    sure: Confidences = lambda hits: None,
    filters: Filters | None = None,
) -> Answer:
    answering = Answering(index.retriever(), index.store.standings, sure)
    question = Question(text, k, mode, filters or Filters(), index.generation.id, Moment(as_of, known), True)
    return await answering.answer(question)


def paths(judged: Sequence[object]) -> list[str]:
    return [one.hit.chunk.path for one in judged]  # type: ignore[attr-defined]


@pytest.mark.parametrize("mode", Mode)
async def test_a_reversed_decision_brings_the_current_one_in_its_own_place(index: Index, mode: Mode) -> None:
    answer = await ask(index, JOBS, k=3, mode=mode)
    first = answer.hits[0]
    assert first.hit.chunk.path == "decisions/0009-work.md"
    assert first.stands_for == "decisions/0003-jobs.md"
    assert first.judgement.verdict == "unverified"
    assert "decisions/0003-jobs.md" not in paths(answer.hits)
    [old] = [one for one in answer.withheld if one.hit.chunk.path == "decisions/0003-jobs.md"]
    assert (old.judgement.verdict, old.successor) == ("superseded", "decisions/0009-work.md")
    assert len(answer.hits) == (1 if mode is Mode.LEXICAL else 3)


async def test_as_of_a_day_before_the_old_decision_holds(index: Index) -> None:
    then = datetime(2024, 7, 15, tzinfo=UTC)
    answer = await ask(index, JOBS, as_of=then)
    assert paths(answer.hits)[0] == "decisions/0003-jobs.md"
    assert "decisions/0009-work.md" not in paths(answer.hits)


async def test_known_as_of_before_anything_was_indexed(index: Index) -> None:
    answer = await ask(index, JOBS, known=datetime(2026, 1, 1, tzinfo=UTC))
    assert answer.hits == []
    assert {one.judgement.verdict for one in answer.withheld} <= {"not_yet_known", "invalid_metadata"}
    assert (await ask(index, JOBS, known=AT)).hits


@pytest.mark.parametrize(
    ("text", "path", "verdict"),
    [
        ("nobody deploys during the regatta", "rules/freeze.md", "expired"),
        ("tabs indent every python module", "rules/style.md", "retired"),
        ("splice the halyard before storms", "rules/half.md", "invalid_metadata"),
    ],
)
async def test_what_does_not_hold_is_withheld(index: Index, text: str, path: str, verdict: str) -> None:
    answer = await ask(index, text)
    assert path not in paths(answer.hits)
    assert next(one for one in answer.withheld if one.hit.chunk.path == path).judgement.verdict == verdict


async def test_what_holds_is_found_behind_many_that_do_not(index: Index) -> None:
    expired = {
        f"freezes/f{n}.md": f"---\nvalid_until: 2020-01-01\n---\n# Harvest {n}\n\nHarvest pause number {n}.\n".encode()
        for n in range(12)
    }
    await index.add(
        {**expired, "z.md": b"# Kelp\n\nSome harvest pause of kelp, a long text about other things entirely.\n"}
    )
    answer = await ask(index, "harvest pause number", k=3, mode=Mode.LEXICAL)
    assert "z.md" in paths(answer.hits)


async def test_low_confidence_is_withheld_and_named_as_a_gap(index: Index) -> None:
    answer = await ask(index, "zebra crossing", sure=lambda hits: [0.2] * len(hits))
    assert answer.calibrated
    assert answer.hits == []
    why = [(one.hit.chunk.path, one.judgement, one.confidence) for one in answer.withheld]
    assert wording.abstention(why) == wording.GAP


async def test_a_successor_is_as_sure_as_the_hit_whose_place_it_takes(index: Index) -> None:
    def sure(hits: Sequence[RankedChunk]) -> Sequence[float]:
        return [0.9 if "0003" in hit.chunk.path else 0.1 for hit in hits]

    answer = await ask(index, JOBS, sure=sure)
    first, *others = answer.hits
    assert (first.hit.chunk.path, first.confidence, first.judgement.verdict) == ("decisions/0009-work.md", 0.9, "ok")
    assert {(one.confidence, str(one.judgement.verdict)) for one in others} == {(0.1, "ok")}


async def test_a_superseded_hit_that_is_no_answer_brings_nobody(index: Index) -> None:
    answer = await ask(index, JOBS, sure=lambda hits: [0.1] * len(hits))
    assert answer.hits == []
    assert all(one.stands_for is None for one in answer.withheld)


async def test_an_abstention_says_what_stands_in_the_way(index: Index) -> None:
    def sure(hits: Sequence[RankedChunk]) -> Sequence[float]:
        return [0.9 if hit.chunk.path == "rules/freeze.md" else 0.1 for hit in hits]

    answer = await ask(index, "nobody deploys during the regatta", sure=sure)
    why = [(one.hit.chunk.path, one.judgement, one.confidence) for one in answer.withheld]
    assert wording.abstention(why) == "the best match, rules/freeze.md, no longer holds: it was valid until 2026-07-14"


async def test_the_trace_has_the_verdicts(index: Index) -> None:
    stage = (await ask(index, JOBS)).retrieval.trace[-1]
    assert stage.stage == "trust"
    assert "superseded" in {reason for _, reason in stage.dropped}


async def test_nothing_found(index: Index) -> None:
    answer = await ask(index, "anything", filters=Filters(repos=("nosuch",)))
    assert (answer.hits, answer.withheld) == ([], [])
    assert wording.abstention([]) == wording.NOTHING_FOUND
