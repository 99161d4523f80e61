"""What runs a model file: ONNX Runtime (through fastembed) everywhere, OpenVINO where it is installed."""

from __future__ import annotations

import importlib.util
import logging
import os
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

log = logging.getLogger(__name__)

_STEP = 16
"""OpenVINO compiles for each new shape, 7 to 23 ms, and keeps it: widths are multiples of this (tokens)."""
_USUAL_QUERY = 64
"""Shapes of queries up to here are compiled while the model loads (tokens)."""
_MOST_STREAMS = 4
"""Each stream has memory of its own; on a machine with more cores, a stream has more than one."""

Ids = NDArray[np.int64]
"""Token ids or an attention mask, shape (texts, tokens)."""


class Runtime(Protocol):
    """Runs a transformer: batches from ``streams`` threads, and beside them one query that waits for none."""

    @property
    def name(self) -> str: ...
    @property
    def streams(self) -> int:
        """Batches that run side by side."""
        ...

    def bulk(self, ids: Ids, mask: Ids) -> NDArray[np.float32]:
        """Return the token outputs of a batch, shape (texts, tokens, dimension)."""
        ...

    def single(self, ids: Ids, mask: Ids) -> NDArray[np.float32]:
        """The same for one query: made to be fast beside a bulk that is running."""
        ...


class OnnxRuntime:
    """ONNX Runtime, loaded by fastembed from a directory of model and tokenizer."""

    name = "onnx"
    streams = 1

    def __init__(self, directory: Path, threads: int) -> None:
        from fastembed import TextEmbedding
        from fastembed.common.model_description import ModelSource, PoolingType

        name = f"recalld/{directory.name}"
        if all(model["model"].lower() != name.lower() for model in TextEmbedding.list_supported_models()):
            TextEmbedding.add_custom_model(
                model=name,
                pooling=PoolingType.DISABLED,
                normalization=False,
                sources=ModelSource(url="packaged"),
                dim=384,
                model_file="model.onnx",
            )
        embedding = TextEmbedding(
            name,
            threads=threads or None,
            specific_model_path=str(directory),
            extra_session_options={"enable_cpu_mem_arena": False},
        )
        self._session: Any = embedding.model.model  # type: ignore[attr-defined]

    def bulk(self, ids: Ids, mask: Ids) -> NDArray[np.float32]:
        """Run a batch."""
        output: NDArray[np.float32] = self._session.run(
            ["last_hidden_state"], {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        )[0]
        return output

    single = bulk


class OpenVinoRuntime:
    """OpenVINO on the same file, compiled twice: for batches side by side, and for one query on all cores.

    Batches that have a core each share no barrier, where every thread would wait for one that lost its core for a
    moment.
    """

    name = "openvino"

    def __init__(self, directory: Path, threads: int, cache: Path) -> None:
        import openvino

        core = openvino.Core()
        core.set_property({"CACHE_DIR": str(cache / "openvino")})
        model = core.read_model(directory / "model.onnx")
        # The model's own quantisation is exact enough; a second one on top moved pooled vectors by 0.0005.
        options: dict[str, Any] = {"DYNAMIC_QUANTIZATION_GROUP_SIZE": "0"}
        if threads:
            options["INFERENCE_NUM_THREADS"] = threads
        self.streams = min(threads or _cores(), _MOST_STREAMS)
        bulk = core.compile_model(model, "CPU", {**options, "NUM_STREAMS": self.streams})
        single = core.compile_model(model, "CPU", {**options, "NUM_STREAMS": 1})
        self._bulk: SimpleQueue[Any] = SimpleQueue()
        for _ in range(self.streams):
            self._bulk.put(bulk.create_infer_request())
        self._single = single.create_infer_request()
        for width in range(_STEP, _USUAL_QUERY + 1, _STEP):
            self.single(np.zeros((1, width), np.int64), np.ones((1, width), np.int64))

    def bulk(self, ids: Ids, mask: Ids) -> NDArray[np.float32]:
        """Run a batch on a stream that is free."""
        request = self._bulk.get()
        try:
            return self._run(request, ids, mask)
        finally:
            self._bulk.put(request)

    def single(self, ids: Ids, mask: Ids) -> NDArray[np.float32]:
        """Run one query."""
        return self._run(self._single, ids, mask)

    @staticmethod
    def _run(request: Any, ids: Ids, mask: Ids) -> NDArray[np.float32]:
        width = ids.shape[1]
        ids, mask = (np.pad(array, ((0, 0), (0, -width % _STEP))) for array in (ids, mask))
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        output: NDArray[np.float32] = next(iter(request.infer(inputs).values()))
        return np.array(output[:, :width])


def _cores() -> int:
    """Return the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def openvino_is_installed() -> bool:
    """Tell whether OpenVINO can be had."""
    return importlib.util.find_spec("openvino") is not None


def load(kind: str, directory: Path, threads: int, cache: Path | None = None) -> Runtime:
    """Return a runtime by its setting: ``onnx``, ``openvino``, or ``auto`` for the faster one that is installed.

    What is compiled is kept in ``cache``, else in the model's own directory.

    Where ``auto`` finds an OpenVINO that does not work on this machine, it says so and takes ONNX Runtime.
    """
    if kind == "openvino":
        return OpenVinoRuntime(directory, threads, cache or directory)
    if kind == "auto" and openvino_is_installed():
        try:
            return OpenVinoRuntime(directory, threads, cache or directory)
        except (ImportError, RuntimeError) as error:
            log.warning("OpenVINO is installed but cannot be used, ONNX Runtime is: %s", error)
    return OnnxRuntime(directory, threads)
