"""The packaged model's numbers, out of its ONNX file and back into it.

The file keeps each matrix as int8 with a scale for every row (embeddings) or output (layers). Fine-tuning needs floats
under the names that BERT has for them. What comes back is put into the same graph, so that whatever runs the packaged
model runs the fine-tuned one, but as floats: a short training moves weights by less than a step of int8, and rounding
them took all of it back. That makes the file four times as large.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recalld.errors import ConfigError

_PREFIX = "inner."
_Q, _SCALE = "_q", "_scale"
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Matrix:
    """A matrix as the file has it; a layer's is the other way round than BERT's."""

    stem: str
    name: str
    layer: bool


def read(path: Path) -> dict[str, Floats]:
    """Return every weight by BERT's name for it. Raises ConfigError for a file that is not made like this."""
    model, numbers = _opened(path)
    found = {
        name.removeprefix(_PREFIX): value
        for name, value in numbers.items()
        if name.startswith(_PREFIX) and value.dtype == np.float32 and not name.endswith((_Q, _SCALE))
    }
    for matrix in _matrices(model, numbers):
        floats = numbers[matrix.stem + _Q].astype(np.float32) * numbers[matrix.stem + _SCALE]
        found[matrix.name] = floats.T.copy() if matrix.layer else floats
    return found


def write(source: Path, weights: dict[str, Floats], target: Path) -> None:
    """Write the graph of ``source`` with other weights, as floats whose scale is 1."""
    import onnx
    from onnx import numpy_helper

    model, numbers = _opened(source)
    changed: dict[str, NDArray[Any]] = {
        name: weights[name.removeprefix(_PREFIX)]
        for name, value in numbers.items()
        if name.removeprefix(_PREFIX) in weights and value.dtype == np.float32
    }
    for matrix in _matrices(model, numbers):
        floats = weights[matrix.name].T if matrix.layer else weights[matrix.name]
        changed[matrix.stem + _Q] = np.ascontiguousarray(floats, np.float32)
        changed[matrix.stem + _SCALE] = np.ones_like(numbers[matrix.stem + _SCALE])
    for tensor in model.graph.initializer:
        if tensor.name in changed:
            tensor.CopyFrom(numpy_helper.from_array(changed[tensor.name], tensor.name))
    onnx.save(model, str(target))


def _opened(path: Path) -> tuple[Any, dict[str, NDArray[Any]]]:
    import onnx
    from onnx import numpy_helper

    model = onnx.load(str(path))
    return model, {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


def _matrices(model: Any, numbers: dict[str, NDArray[Any]]) -> Iterator[_Matrix]:
    """Yield the int8 matrices; a layer's is named by the bias that is added to its product."""
    users: dict[str, list[Any]] = {}
    for node in model.graph.node:
        for name in node.input:
            users.setdefault(name, []).append(node)
    for stem in [name.removesuffix(_Q) for name in numbers if name.endswith(_Q)]:
        if stem.startswith(_PREFIX):
            yield _Matrix(stem, stem.removeprefix(_PREFIX), layer=False)
        else:
            yield _Matrix(stem, _bias(stem, users, numbers).removesuffix("bias") + "weight", layer=True)


def _bias(stem: str, users: dict[str, list[Any]], numbers: dict[str, NDArray[Any]]) -> str:
    """Follow a matrix through its scaling and its product to the bias."""
    value, inputs = stem + _Q, [""]
    for kind in ("Cast", "Mul", "MatMul", "Add"):
        node = next((user for user in users.get(value, ()) if user.op_type == kind), None)
        if node is None:
            raise ConfigError(f"the model's file is not made as expected: {stem} leads to no {kind}")
        value, inputs = node.output[0], list(node.input)
    return next(name for name in inputs if name in numbers).removeprefix(_PREFIX)
