"""Retrieval over the real parser, store and analyzer. The embedder hashes words: likeness is easy to foresee."""

import random
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime

import anyio
import pytest

from recalld.embed.hashing import HashingEmbedder
from recalld.errors import DependencyError, WarmingError
from recalld.model import Filters, Mode, QueryVectors, Retrieval, State
from recalld.recall.ports import QueryEmbedder
from recalld.settings import RecallSettings
from tests.support.indexing import Index, an_index
from tests.support.repos import WORDS

MEMOS = {
    "decisions/queue.md": b"# Queue\n\nWe chose NATS JetStream for the ingest queue because replays are cheap.\n",
    "decisions/store.md": b"# Store\n\nPostgres with pgvector holds the index. See ADR-007 for the numbers.\n",
    "incidents/outage.md": b"---\ntags: [incident]\nkind: incident\n---\n# Outage of March\n\n"
    b"The ledger service ran out of file descriptors and refused every transfer.\n",
    "lessons/retry.md": b"---\ntags: [lesson, ops]\n---\n# Retry\n\n"
    b"Never retry a transfer of money to another region without an idempotency key.\n",
    "notes/cafe.txt": "Le café du coin ferme à midi.\n".encode(),
}


class Broken:
    """A query embedder that answers with an error, or never."""

    fingerprint = "broken"

    def __init__(self, error: Exception | None) -> None:
        self._error = error

    async def embed_query(self, text: str) -> QueryVectors:
        if self._error is not None:
            raise self._error
        await anyio.sleep_forever()
        raise AssertionError


class WithoutTokens:
    """A query embedder that has pooled vectors only."""

    fingerprint = HashingEmbedder.fingerprint

    async def embed_query(self, text: str) -> QueryVectors:
        return QueryVectors((await HashingEmbedder().embed_query(text)).pooled, None)


@pytest.fixture
async def index(postgres: str) -> AsyncIterator[Index]:
    async with an_index(postgres, HashingEmbedder()) as made:
        await made.add(MEMOS)
        yield made


async def _ask(
    index: Index,
    query: str,
    mode: Mode = Mode.RERANK,
    *,
    k: int = 5,
    filters: Filters | None = None,
    trace: bool = False,
    embedder: QueryEmbedder | None = None,
    settings: RecallSettings | None = None,
) -> Retrieval:
    retriever = index.retriever(settings, embedder)
    return await retriever.retrieve(query, k, mode, filters or Filters(), index.generation.id, trace)


def _paths(found: Retrieval) -> list[str]:
    return [hit.chunk.path for hit in found.chunks]


@pytest.mark.parametrize("mode", Mode)
async def test_every_mode_finds_the_memo_that_says_it(index: Index, mode: Mode) -> None:
    found = await _ask(index, "why did the ledger refuse a transfer?", mode)
    assert _paths(found)[0] == "incidents/outage.md"
    assert (found.state, found.notes) == (State.READY, ())
    hit = found.chunks[0].chunk
    assert (hit.repo, hit.title, hit.kind, hit.tags) == ("memory", "Outage of March", "incident", ("incident",))
    assert hit.text in MEMOS["incidents/outage.md"].decode()
    assert [ranked.score for ranked in found.chunks] == sorted((r.score for r in found.chunks), reverse=True)


@pytest.mark.parametrize("query", ["ADR-007", "adr 7", "what does adr_007 say?"])
async def test_an_identifier_is_found_however_it_is_written(index: Index, query: str) -> None:
    assert _paths(await _ask(index, query, Mode.LEXICAL))[0] == "decisions/store.md"


@pytest.mark.parametrize(
    ("mode", "stages", "scores"),
    [
        (Mode.DENSE, {"embed", "dense", "pool", "context"}, {"dense"}),
        (Mode.LEXICAL, {"lexical", "pool", "context"}, {"lexical"}),
        (Mode.HYBRID, {"embed", "dense", "lexical", "fuse", "pool", "context"}, {"dense", "lexical", "rrf"}),
        (
            Mode.RERANK,
            {"embed", "dense", "lexical", "fuse", "maxsim", "blend", "pool", "context"},
            {"dense", "lexical", "rrf", "maxsim"},
        ),
    ],
)
async def test_the_trace_tells_each_stage(index: Index, mode: Mode, stages: set[str], scores: set[str]) -> None:
    found = await _ask(index, "retry a transfer", mode, k=1, trace=True)
    traced = {stage.stage: stage for stage in found.trace}
    assert traced.keys() == stages
    assert all(stage.took_ms >= 0 for stage in found.trace)
    assert all(len(stage.ranking) == stage.left for stage in found.trace)
    assert traced["context"].ranking[0] == (found.chunks[0].chunk.id, found.chunks[0].score)
    assert found.chunks[0].scores.keys() == scores
    untraced = await _ask(index, "retry a transfer", mode, k=1)
    assert not any(stage.ranking for stage in untraced.trace)
    assert {stage.stage: stage.left for stage in untraced.trace} == {s: t.left for s, t in traced.items()}


@pytest.mark.parametrize("mode", [Mode.DENSE, Mode.HYBRID, Mode.RERANK])
@pytest.mark.parametrize(
    ("error", "state", "reason"),
    [
        (WarmingError("the model is being loaded"), State.WARMING, "the model is being loaded"),
        (DependencyError("the model's host is down"), State.DEGRADED, "the model's host is down"),
        (ZeroDivisionError("division by zero"), State.DEGRADED, "ZeroDivisionError: division by zero"),
    ],
)
async def test_without_an_embedder_words_answer_and_the_reply_says_so(
    index: Index, mode: Mode, error: Exception, state: State, reason: str
) -> None:
    found = await _ask(index, "idempotency key", mode, embedder=Broken(error))
    assert _paths(found)[0] == "lessons/retry.md"
    assert found.state is state
    assert found.notes == (f"answered by words alone: {'the embedder failed: ' * (reason[0] == 'Z')}{reason}",)


async def test_an_embedder_that_hangs_is_not_waited_for(index: Index) -> None:
    settings = RecallSettings(embed_timeout_s=0.05)
    found = await _ask(index, "idempotency key", embedder=Broken(None), settings=settings)
    assert (_paths(found)[0], found.state) == ("lessons/retry.md", State.DEGRADED)
    assert "0.05 s" in found.notes[0]


async def test_the_lexical_mode_needs_no_embedder(index: Index) -> None:
    found = await _ask(index, "idempotency key", Mode.LEXICAL, embedder=Broken(WarmingError("loading")))
    assert (found.state, found.notes) == (State.READY, ())


async def test_without_token_vectors_fusion_decides_and_the_reply_says_so(index: Index) -> None:
    found = await _ask(index, "idempotency key", embedder=WithoutTokens())
    fused = await _ask(index, "idempotency key", Mode.HYBRID)
    assert [(hit.chunk.id, hit.score) for hit in found.chunks] == [(hit.chunk.id, hit.score) for hit in fused.chunks]
    assert (found.state, len(found.notes)) == (State.READY, 1)
    assert "not reranked" in found.notes[0]


async def test_an_index_that_is_gone_is_an_error_and_not_an_empty_answer(index: Index) -> None:
    await index.store.aclose()
    for mode in Mode:
        with pytest.raises(DependencyError):
            await _ask(index, "anything", mode)


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(kinds=("incident",)), {"incidents/outage.md"}),
        (Filters(tags=("ops",)), {"lessons/retry.md"}),
        (Filters(path="decisions/*"), {"decisions/queue.md", "decisions/store.md"}),
        (Filters(repos=("other",)), {"private.md"}),
        (Filters(repos=("other",), agent="stranger"), set()),
        (Filters(since=datetime(2100, 1, 1, tzinfo=UTC)), set()),
    ],
)
async def test_filters_hold_in_every_mode(index: Index, mode: Mode, filters: Filters, expected: set[str]) -> None:
    await index.add(
        {"private.md": b"# Private\n\nA transfer that only one agent may see.\n"}, "other", visible_to=("a",)
    )
    asked = filters if filters.agent else replace(filters, agent="a")
    found = await _ask(index, "a transfer and a queue and a store of the index", mode, k=20, filters=asked)
    assert set(_paths(found)) <= expected
    if mode is not Mode.LEXICAL:  # a leg of vectors finds everything that passes
        assert set(_paths(found)) == expected


async def test_a_narrow_filter_still_gets_its_full_number_of_hits(index: Index) -> None:
    crowd = {f"crowd/{n}.md": f"# Crowd {n}\n\nledger transfer queue store {n}\n".encode() for n in range(150)}
    await index.add(crowd)
    for mode in Mode:
        found = await _ask(index, "ledger transfer queue store", mode, k=2, filters=Filters(path="decisions/*"))
        assert len(found.chunks) == 2


async def test_copies_of_a_memo_are_shown_once(index: Index) -> None:
    text = MEMOS["lessons/retry.md"].decode()
    await index.add(
        {
            "archive/retry.md": text.encode(),
            "archive/retry-2.md": text.replace("Never retry", "**Never** _retry_").encode(),
            "archive/retry-3.md": text.replace("idempotency key", "correlation id").encode(),
        }
    )
    found = await _ask(index, "retry a transfer without an idempotency key", k=10, trace=True)
    retries = {path for path in _paths(found) if "retry" in path}
    assert len(retries & {"lessons/retry.md", "archive/retry.md", "archive/retry-2.md"}) == 1
    assert "archive/retry-3.md" in retries  # it says something else
    reasons = {reason for stage in found.trace for _, reason in stage.dropped}
    assert any(reason.startswith(("same text as", "its words stand in")) for reason in reasons)


async def test_one_long_document_does_not_crowd_out_the_others(index: Index) -> None:
    words = [" ".join(random.Random(n).sample(WORDS, 30)) for n in range(60)]
    long = "".join(f"## Part {n}\n\n{text} freeze rollout.\n\n" for n, text in enumerate(words[5:]))
    short = {f"short/{n}.md": f"# Short {n}\n\n{text} freeze rollout.\n".encode() for n, text in enumerate(words[:3])}
    await index.add({"long.md": f"# Long\n\n{long}".encode(), **short})
    crowded = await _ask(index, "freeze rollout", k=8, settings=RecallSettings(crowding=0))
    found = await _ask(index, "freeze rollout", k=8)
    assert not short.keys() <= set(_paths(crowded))
    assert short.keys() <= set(_paths(found))
    assert _paths(found).count("long.md") > 1
    alone = await _ask(index, "freeze rollout", k=8, filters=Filters(path="long.md"))
    assert _paths(alone) == ["long.md"] * 8


async def test_the_same_question_gets_the_same_answer(index: Index, postgres: str) -> None:
    rng = random.Random(5)
    crowd = {f"n/{n}.md": f"# {n}\n\n{' '.join(rng.sample(WORDS, 8))}\n".encode() for n in range(60)}
    await index.add(crowd)
    query = "the queue of the ledger in this region"
    for mode in Mode:
        first = await _ask(index, query, mode, k=20)
        for _ in range(3):
            again = await _ask(index, query, mode, k=20)
            assert [(hit.chunk.id, hit.score) for hit in again.chunks] == [(h.chunk.id, h.score) for h in first.chunks]


async def test_a_deleted_memo_is_not_found(index: Index) -> None:
    await index.delete("lessons/retry.md")
    for mode in Mode:
        assert "lessons/retry.md" not in _paths(await _ask(index, "retry idempotency key", mode, k=20))


@pytest.mark.parametrize(
    "query", ["?", "   ", "\x00\x01", "🙂", "a" * 8_000, "of the", "SELECT * FROM chunk; --", "日本語"]
)
@pytest.mark.parametrize("mode", Mode)
async def test_any_query_is_answered(index: Index, query: str, mode: Mode) -> None:
    found = await _ask(index, query, mode)
    assert found.state is State.READY


async def test_an_empty_index_has_no_hits(postgres: str) -> None:
    async with an_index(postgres, HashingEmbedder()) as empty:
        for mode in Mode:
            assert list((await _ask(empty, "anything", mode)).chunks) == []
