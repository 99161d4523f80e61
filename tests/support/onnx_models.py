"""A tiny model in the folder form of real ones: its logit is how often one word stands in question and passage."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import onnx
from onnx import TensorProto, helper
from tokenizers import Tokenizer

WORD = "zebra"


def write_model(folder: Path, *, classes: int = 1, with_mask: bool = False) -> Path:
    """Write model.onnx and the packaged tokenizer; class 0 says yes, further ones are always 0.5."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_bytes((resources.files("recalld.data.minilm") / name).read_bytes())
    word = Tokenizer.from_file(str(folder / "tokenizer.json")).encode(WORD, add_special_tokens=False).ids[0]
    onnx.save(_model(word, classes, with_mask), str(folder / "model.onnx"))
    return folder


def _model(word: int, classes: int, with_mask: bool) -> onnx.ModelProto:
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])
    mask = helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "tokens"])
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", classes])
    constants = [
        helper.make_tensor("word", TensorProto.INT64, [1], [word]),
        helper.make_tensor("axis", TensorProto.INT64, [1], [1]),
        helper.make_tensor("scale", TensorProto.FLOAT, [classes], [2.0] + [0.0] * (classes - 1)),
        helper.make_tensor("shift", TensorProto.FLOAT, [classes], [-1.0] + [0.5] * (classes - 1)),
    ]
    nodes = [
        helper.make_node("Equal", ["input_ids", "word"], ["is_word"]),
        helper.make_node("Cast", ["is_word"], ["ones"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["ones", "axis"], ["count"], keepdims=1),
        helper.make_node("Mul", ["count", "scale"], ["scaled"]),
        helper.make_node("Add", ["scaled", "shift"], ["logits"]),
    ]
    graph = helper.make_graph(nodes, "tiny", [ids, mask] if with_mask else [ids], [logits], constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 8
    onnx.checker.check_model(made)
    return made
