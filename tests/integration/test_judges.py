"""The optional judges: tiny models, through the loading code that real weights use, over the real store."""

from __future__ import annotations

import math
import threading
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio
import numpy as np
import pytest

from recalld import judges
from recalld.analyze import Analyzer
from recalld.embed.hashing import HashingEmbedder
from recalld.embed.registry import GenerationEmbedder
from recalld.errors import ConfigError, DependencyError, WarmingError
from recalld.judges import PendingEntailment, PendingReranker, make_entailment, make_gate, make_reranker
from recalld.model import Filters, Mode, State
from recalld.recall.answer import Answer, Answering, Question
from recalld.recall.entailment import Gate
from recalld.recall.retrieve import Retriever
from recalld.settings import RecallSettings, TrustSettings
from recalld.trust.verdict import Moment
from recalld_plugins.cross_encoder import reranker
from recalld_plugins.parts import in_parts
from recalld_plugins.qnli import Qnli, entailment, probability
from tests.support.indexing import Index, an_index
from tests.support.onnx_models import WORD, write_model

MEMORY = {
    "animals.md": f"# Animals\n\nThe {WORD} and the {WORD} again, beside the harbour wall.\n".encode(),
    "harbour.md": b"# Harbour\n\nThe harbour wall was mended in spring, the harbour master says.\n",
    "mails.md": b"# Mails\n\nThe harbour sends its mails at night.\n",
}
ASKED = "harbour wall"


@pytest.fixture
async def index(postgres: str) -> AsyncIterator[Index]:
    async with an_index(postgres, HashingEmbedder()) as made:
        await made.add(MEMORY)
        yield made


async def ask(index: Index, gate: Gate | None, *, sure: float | None = 0.9) -> Answer:
    answering = Answering(
        index.retriever(), index.store.standings, lambda hits: None if sure is None else [sure] * len(hits), gate
    )
    moment = Moment(datetime(2026, 8, 19, tzinfo=UTC))
    return await answering.answer(Question(ASKED, 5, Mode.RERANK, Filters(), index.generation.id, moment, True))


@pytest.mark.parametrize(("classes", "with_mask"), [(1, False), (1, True), (2, True)])
async def test_what_does_not_answer_is_withheld(index: Index, tmp_path: Path, classes: int, with_mask: bool) -> None:
    folder = write_model(tmp_path, classes=classes, with_mask=with_mask)
    settings = TrustSettings(entailment="qnli", entailment_options={"path": str(folder)}, entailment_hits=8)
    gate = make_gate(settings, make_entailment(settings))
    answer = await ask(index, gate)
    assert [judged.hit.chunk.path for judged in answer.hits] == ["animals.md"]
    assert {str(judged.judgement.verdict) for judged in answer.withheld} == {"not_entailed"}
    assert answer.retrieval.trace[-1].stage == "qnli"
    plain = await ask(index, None)
    assert len(plain.hits) == 3


async def test_only_the_first_hits_are_looked_at_and_only_sure_ones(index: Index, tmp_path: Path) -> None:
    judge = entailment({"path": str(write_model(tmp_path))})
    answer = await ask(index, Gate(judge, 0.5, 1, 5.0))
    assert len(answer.hits) + len(answer.withheld) == 3
    assert len(answer.withheld) <= 1
    assert "qnli looked at the first 1 of 3 hits" in answer.retrieval.notes
    assert (await ask(index, Gate(judge, 0.5, 8, 5.0), sure=None)).withheld == []


class Odd:
    """A judge that fails in a way of its own."""

    name = "odd"

    def __init__(self, error: Exception | None, decisions: Sequence[float] = ()) -> None:
        self._error, self._decisions = error, decisions

    async def judge(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        if self._error is not None:
            raise self._error
        if not self._decisions:
            await anyio.sleep_forever()
        return self._decisions


async def test_an_answer_stands_without_the_judges_word_and_says_so(index: Index) -> None:
    answer = await ask(index, Gate(Odd(DependencyError("out of memory")), 0.5, 8, 5.0))
    assert len(answer.hits) == 3
    assert "out of memory" in answer.retrieval.notes[-1]
    assert answer.retrieval.state is State.DEGRADED
    answer = await ask(index, Gate(Odd(ZeroDivisionError("by zero")), 0.5, 8, 5.0))
    assert len(answer.hits) == 3
    assert "odd failed: ZeroDivisionError" in answer.retrieval.notes[-1]
    answer = await ask(index, Gate(Odd(WarmingError("it is being loaded")), 0.5, 8, 5.0))
    assert (len(answer.hits), answer.retrieval.state) == (3, State.WARMING)
    answer = await ask(index, Gate(Odd(None), 0.5, 8, 0.01))
    assert "odd took more than 0.01 s" in answer.retrieval.notes[-1]


async def test_a_wrong_number_of_decisions_is_a_fault(index: Index) -> None:
    with pytest.raises(ValueError, match="2 decisions on 3 passages"):
        await ask(index, Gate(Odd(None, [0.9, 0.9]), 0.5, 8, 5.0))
    with pytest.raises(ValueError, match="no probability"):
        await ask(index, Gate(Odd(None, [0.9, math.nan, 0.9]), 0.5, 8, 5.0))


@pytest.mark.parametrize("shape", [(2,), (3, 2), (1, 1), (1, 2, 2)])
def test_logits_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(DependencyError, match="logits of shape"):
        probability(np.zeros(shape), 1)


@pytest.mark.parametrize(("logits", "label", "chance"), [([0.0], 0, 0.5), ([-900.0], 0, 0.0), ([1.0, 1.0], 1, 0.5)])
def test_a_probability_is_a_sigmoid_of_one_logit_and_a_softmax_of_several(
    logits: list[float], label: int, chance: float
) -> None:
    assert probability(np.array([logits]), label) == pytest.approx(chance)


async def test_a_question_longer_than_the_model_reads_is_judged_all_the_same(tmp_path: Path) -> None:
    judge = entailment({"path": str(write_model(tmp_path)), "max_tokens": 64})
    [about, beside] = await judge.judge("word " * 300, [f"the {WORD}", "something else"])
    assert about > 0.5 > beside


async def test_a_score_that_is_no_number_is_a_failure_and_not_an_answer() -> None:
    with pytest.raises(DependencyError, match="no number"):
        await in_parts(lambda part: [math.nan] * len(part), ["a", "b"], 1, anyio.CapacityLimiter(1))


async def test_inference_that_nobody_waits_for_ends_after_the_part_at_hand() -> None:
    begun, go_on = threading.Event(), threading.Event()
    seen: list[str] = []

    def score(part: Sequence[str]) -> list[float]:
        seen.extend(part)
        begun.set()
        go_on.wait(10)
        return [0.0] * len(part)

    with anyio.move_on_after(0.2) as scope:
        await in_parts(score, ["a", "b", "c"], 1, anyio.CapacityLimiter(1))
    assert scope.cancelled_caught
    assert begun.is_set()
    go_on.set()
    await anyio.sleep(0.2)
    assert seen == ["a"]


async def test_a_cross_encoder_ranks_by_the_texts(index: Index, tmp_path: Path) -> None:
    settings = RecallSettings(reranker="cross_encoder", reranker_options={"path": str(write_model(tmp_path))})
    made = make_reranker(settings, tmp_path / "cache", index.store.chunks.texts)
    found = await _retrieve(index, made, RecallSettings(blend=0.0))
    assert found.chunks[0].chunk.path == "animals.md"
    assert found.chunks[0].scores["cross_encoder"] == pytest.approx(3.0)
    assert all("maxsim" in hit.scores for hit in found.chunks)  # what confidence is made of
    assert {"maxsim", "cross_encoder"} <= {stage.stage for stage in found.trace}
    assert found.notes == ()


async def test_a_cross_encoder_that_fails_leaves_maxsim_to_decide(index: Index, tmp_path: Path) -> None:
    made = reranker({"path": str(write_model(tmp_path))}, tmp_path / "cache", index.store.chunks.texts)
    made._model.model.tokenizer = None  # type: ignore[attr-defined]
    found = await _retrieve(index, made, RecallSettings())
    assert len(found.chunks) == 3
    assert "not reranked by cross_encoder: the cross-encoder failed" in found.notes[0]
    assert found.state is State.DEGRADED
    late = await _retrieve(index, None, RecallSettings())
    assert [hit.chunk.id for hit in found.chunks] == [hit.chunk.id for hit in late.chunks]


async def test_a_cross_encoder_that_hangs_is_not_waited_for(index: Index) -> None:
    class Hanging:
        name = "hanging"

        async def rerank(self, *_: object) -> None:
            await anyio.sleep_forever()

    found = await _retrieve(index, Hanging(), RecallSettings(rerank_timeout_s=0.05))
    assert len(found.chunks) == 3
    assert found.notes == ("not reranked by hanging: hanging took more than 0.05 s",)


async def _retrieve(index: Index, made, settings: RecallSettings):  # type: ignore[no-untyped-def]
    embedder = GenerationEmbedder(index.embedders, index.generation)
    retriever = Retriever(index.store, embedder, Analyzer(), settings, made)
    return await retriever.retrieve(ASKED, 5, Mode.RERANK, Filters(), index.generation.id, True)


async def nothing(_: Sequence[int]) -> dict[int, str]:
    return {}


def test_what_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no nosuch"):
        make_reranker(RecallSettings(reranker="nosuch"), tmp_path, nothing)
    with pytest.raises(ConfigError, match="there is no nosuch"):
        make_entailment(TrustSettings(entailment="nosuch"))
    with pytest.raises(ConfigError, match="needs a path"):
        entailment({})
    with pytest.raises(ConfigError, match=r"model\.onnx"):
        entailment({"path": str(tmp_path)})
    with pytest.raises(ConfigError, match=r"model\.onnx"):
        reranker({"path": str(tmp_path)}, tmp_path, nothing)
    with pytest.raises(ConfigError, match="no option"):
        reranker({"pth": "x"}, tmp_path, nothing)
    write_model(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"no model")
    for load in (
        lambda: entailment({"path": str(tmp_path)}),
        lambda: reranker({"path": str(tmp_path)}, tmp_path, nothing),
    ):
        with pytest.raises(ConfigError, match="cannot be loaded"):
            load()


def test_options_reach_the_model(tmp_path: Path) -> None:
    judge = entailment({"path": str(write_model(tmp_path, classes=2)), "label": 1, "max_tokens": 64, "threads": 1})
    assert isinstance(judge, Qnli)
    assert judge.chance("is it a zebra?", "no animal " * 200) < 0.5
    with pytest.raises(ConfigError, match="has no label 2"):
        entailment({"path": str(tmp_path), "label": 2})


async def test_until_a_judge_is_loaded_searches_go_on_and_say_so(index: Index, tmp_path: Path) -> None:
    settings = TrustSettings(entailment="qnli", entailment_options={"path": str(write_model(tmp_path))})
    pending = PendingEntailment("qnli", partial(make_entailment, settings))
    gate = make_gate(settings, pending)
    before = await ask(index, gate)
    assert (len(before.hits), before.retrieval.state) == (3, State.WARMING)
    assert "qnli is still being loaded" in before.retrieval.notes[-1]
    await pending.load()
    assert len((await ask(index, gate)).hits) == 1


async def test_a_judge_that_settings_name_wrongly_is_named_in_each_reply_and_ends_nothing(index: Index) -> None:
    wrong = RecallSettings(reranker="nosuch")
    pending = PendingReranker("nosuch", lambda: make_reranker(wrong, Path("/nonexistent"), nothing))
    await pending.load()
    found = await _retrieve(index, pending, wrong)
    assert (len(found.chunks), found.state) == (3, State.DEGRADED)
    assert "nosuch cannot be used: recall.reranker: there is no nosuch" in found.notes[0]


async def test_a_model_that_cannot_be_had_now_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judges, "RETRY_S", 0.01)
    tries: list[int] = []

    def make() -> Odd:
        tries.append(1)
        if len(tries) < 3:
            raise DependencyError("the hub is down")
        return Odd(None, [0.9])

    pending = PendingEntailment("odd", make)
    await pending.load()
    assert (len(tries), await pending.judge("q", ["a"])) == (3, [0.9])


async def test_a_successor_comes_in_also_where_the_cross_encoder_fails(postgres: str) -> None:
    class Failing:
        name = "failing"

        async def rerank(self, *_: object) -> None:
            raise DependencyError("out of memory")

    memory = {
        "old.md": b"# Jobs\n\nBackground jobs go through a Redis list.\n",
        "new.md": b"---\nsupersedes: old\n---\n# A table\n\nPending work lives in Postgres.\n",
    }
    async with an_index(postgres, HashingEmbedder()) as index:
        await index.add(memory)
        retriever = Retriever(
            index.store,
            GenerationEmbedder(index.embedders, index.generation),
            Analyzer(),
            RecallSettings(),
            Failing(),  # type: ignore[arg-type]
        )
        answering = Answering(retriever, index.store.standings, lambda hits: None)
        moment = Moment(datetime(2026, 8, 19, tzinfo=UTC))
        only_old = Filters(path="old.md")
        answer = await answering.answer(
            Question("background jobs redis list", 3, Mode.RERANK, only_old, index.generation.id, moment)
        )
    assert [judged.hit.chunk.path for judged in answer.hits] == ["new.md"]
    assert any("out of memory" in note for note in answer.retrieval.notes)
