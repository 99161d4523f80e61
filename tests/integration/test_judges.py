"""The optional judges: tiny models, through the loading code that real weights use, over the real store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import anyio
import numpy as np
import pytest

from recalld.embed.hashing import HashingEmbedder
from recalld.embed.registry import GenerationEmbedder
from recalld.errors import ConfigError, DependencyError, RecalldError
from recalld.judges import make_gate, make_reranker
from recalld.model import Filters, Mode
from recalld.recall.answer import Answer, Answering, Gate, Question
from recalld.recall.retrieve import Retriever
from recalld.settings import RecallSettings, TrustSettings
from recalld.trust.verdict import Moment
from recalld_plugins.cross_encoder import reranker
from recalld_plugins.qnli import Qnli, entailment, probabilities
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
    gate = make_gate(settings)
    assert gate is not None
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
    answer = await ask(index, Gate(Odd(None), 0.5, 8, 0.01))
    assert "no word within 0.01 s" in answer.retrieval.notes[-1]


async def test_a_wrong_number_of_decisions_is_a_fault(index: Index) -> None:
    with pytest.raises(ValueError, match="2 decisions on 3 passages"):
        await ask(index, Gate(Odd(None, [0.9, 0.9]), 0.5, 8, 5.0))


@pytest.mark.parametrize("shape", [(2,), (3, 2), (2, 1)])
def test_logits_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(DependencyError, match="logits of shape"):
        probabilities(np.zeros(shape), 2, 1)


async def test_a_cross_encoder_ranks_by_the_texts(index: Index, tmp_path: Path) -> None:
    settings = RecallSettings(reranker="cross_encoder", reranker_options={"path": str(write_model(tmp_path))})
    made = make_reranker(settings, tmp_path / "cache", index.store.chunks.texts)
    found = await _retrieve(index, made, RecallSettings(blend=0.0))
    assert found.chunks[0].chunk.path == "animals.md"
    assert found.chunks[0].scores["cross_encoder"] == pytest.approx(3.0)
    assert "cross_encoder" in [stage.stage for stage in found.trace]
    assert found.notes == ()


async def test_a_cross_encoder_that_fails_leaves_the_fused_order_and_says_so(index: Index, tmp_path: Path) -> None:
    made = reranker({"path": str(write_model(tmp_path))}, tmp_path / "cache", index.store.chunks.texts)
    made._model.model.tokenizer = None  # type: ignore[attr-defined]
    found = await _retrieve(index, made, RecallSettings())
    assert len(found.chunks) == 3
    assert "not reranked: the cross-encoder failed" in found.notes[0]


async def _retrieve(index: Index, made, settings: RecallSettings):  # type: ignore[no-untyped-def]
    from recalld.analyze import Analyzer

    embedder = GenerationEmbedder(index.embedders, index.generation)
    retriever = Retriever(index.store, embedder, Analyzer(), settings, made)
    return await retriever.retrieve(ASKED, 5, Mode.RERANK, Filters(), index.generation.id, True)


async def nothing(_: Sequence[int]) -> dict[int, str]:
    return {}


def test_what_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no nosuch"):
        make_reranker(RecallSettings(reranker="nosuch"), tmp_path, nothing)
    with pytest.raises(ConfigError, match="there is no nosuch"):
        make_gate(TrustSettings(entailment="nosuch"))
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
        with pytest.raises(RecalldError, match="cannot be loaded"):
            load()


def test_options_reach_the_model(tmp_path: Path) -> None:
    judge = entailment({"path": str(write_model(tmp_path, classes=2)), "label": 1, "max_tokens": 64, "threads": 1})
    assert isinstance(judge, Qnli)
    [chance] = judge._judge("is it a zebra?", ["no animal " * 200])
    assert chance < 0.5
