"""Fine-tuning without torch: weights out of the packaged file and back, and what is trained on."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from recalld.embed.factory import make_embedder
from recalld.embed.minilm import prepare
from recalld.errors import ConfigError
from recalld.evaluate.finetune import training, weights
from recalld.evaluate.finetune.study import pairs_of
from recalld.evaluate.finetune.training import Pair
from recalld.evaluate.tasks import Task
from recalld.settings import EmbedSettings
from tests.support.evaluating import catalogue


def test_weights_go_out_and_back(tmp_path: Path) -> None:
    source = prepare(tmp_path / "cache") / "model.onnx"
    held = weights.read(source)
    assert held["encoder.layer.5.intermediate.dense.weight"].shape == (1536, 384)
    assert len(held) == 5 + 6 * 16
    moved = {name: value + np.float32(1e-4) for name, value in held.items()}  # less than a step of int8
    weights.write(source, moved, tmp_path / "again.onnx")
    again = weights.read(tmp_path / "again.onnx")
    assert again.keys() == moved.keys()
    assert all(np.array_equal(moved[name], again[name]) for name in moved)


async def test_other_weights_are_another_model_of_the_same_form(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    source = prepare(cache)
    held = weights.read(source / "model.onnx")
    name = "encoder.layer.5.output.dense.weight"
    target = tmp_path / "other"
    target.mkdir()
    weights.write(source / "model.onnx", {**held, name: held[name] * 0.5}, target / "model.onnx")
    for file in ("tokenizer.json", "tokenizer_config.json"):
        (target / file).write_bytes((source / file).read_bytes())
    assert np.array_equal(weights.read(target / "model.onnx")[name], held[name] * 0.5)
    other = await make_embedder(EmbedSettings(model=str(target), runtime="onnx"), cache)
    packaged = await make_embedder(EmbedSettings(runtime="onnx"), cache)
    ours, theirs = await other.embed_query("why Redis?"), await packaged.embed_query("why Redis?")
    assert 0.1 < float(ours.pooled @ theirs.pooled) < 0.999


def test_a_file_of_another_form_is_refused(tmp_path: Path) -> None:
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    odd = numpy_helper.from_array(np.ones((2, 2), np.int8), "odd_q")
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [value], [value], [odd])
    onnx.save(helper.make_model(graph), str(tmp_path / "odd.onnx"))
    with pytest.raises(ConfigError, match="not made as expected"):
        weights.read(tmp_path / "odd.onnx")


def test_a_pair_is_a_question_and_the_passage_that_answers_it() -> None:
    index = catalogue({"a.md": ["alpha one", "alpha two"], "b.md": ["beta"]})
    whole = Task.model_validate({"id": "1", "query": "q", "gold": ["a.md", "b.md"]})
    assert pairs_of(whole, index) == [Pair("q", "alpha one"), Pair("q", "beta")]
    part = Task.model_validate({"id": "1", "query": "q", "gold": [{"path": "a.md", "lines": [3, 3]}]})
    assert pairs_of(part, index) == [Pair("q", "alpha two")]


def test_no_passage_is_twice_in_a_batch() -> None:
    pairs = [Pair(f"q{number}", f"passage {number % 5}") for number in range(23)]
    batches = training._batches(pairs, 4, random.Random(1))
    assert all(len({pair.passage for pair in batch}) == len(batch) for batch in batches)
    assert all(2 <= len(batch) <= 4 for batch in batches)
    assert sum(map(len, batches)) >= 21


def test_the_rate_rises_and_falls() -> None:
    heights = [training._height(step, 20) for step in range(20)]
    assert heights[:2] == [0.5, 1.0]
    assert heights[2:] == sorted(heights[2:], reverse=True)
    assert 0 < heights[-1] < 0.1
