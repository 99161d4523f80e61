"""The packaged model on each runtime: bulk tokens a second, a query's latency, what reranking costs."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import anyio
import numpy as np

from recalld.embed.factory import make_embedder
from recalld.embed.maxsim import maxsim
from recalld.embed.protocol import Embedder
from recalld.embed.runtime import openvino_is_installed
from recalld.settings import EmbedSettings
from tests.bench.figure import Figure, median, report
from tests.support.repos import memo

TEXTS = [memo(number, words=30 + number % 90) for number in range(800)]
QUESTIONS = 200


async def measure() -> list[Figure]:
    """Embed the same texts and questions with each runtime, one after the other."""
    with tempfile.TemporaryDirectory() as cache:
        kinds = ["onnx", *(["openvino"] if openvino_is_installed() else [])]
        made = {kind: await make_embedder(EmbedSettings(runtime=kind), Path(cache)) for kind in kinds}  # type: ignore[arg-type]
        bulk = {kind: await _bulk(embedder) for kind, embedder in made.items()}
        query = {kind: await _query(embedder) for kind, embedder in made.items()}
        beside = {kind: await _query_beside_bulk(embedder) for kind, embedder in made.items()}
        rerank = await _rerank(made["onnx"])
    figures = [
        Figure("MaxSim of 50 candidates", rerank, "ms", f"embedding a query: {query['onnx']:.2f} ms (onnx)"),
        *(
            Figure(f"{kind}: query beside a bulk load, median", beside[kind], "ms", f"alone {query[kind]:.2f} ms")
            for kind in kinds
        ),
    ]
    if "openvino" in made:
        figures += [
            Figure(
                "bulk, OpenVINO over ONNX Runtime",
                bulk["openvino"] / bulk["onnx"],
                "x",
                f"{bulk['openvino']:.0f} and {bulk['onnx']:.0f} tokens/s",
            ),
            Figure(
                "query, ONNX Runtime over OpenVINO",
                query["onnx"] / query["openvino"],
                "x",
                f"{query['onnx']:.2f} and {query['openvino']:.2f} ms",
            ),
        ]
    return figures


async def _bulk(embedder: Embedder) -> float:
    await embedder.embed_documents(TEXTS[:50])
    tokens = sum(embedder.count_tokens(TEXTS))
    begun = time.perf_counter()
    await embedder.embed_documents(TEXTS)
    return tokens / (time.perf_counter() - begun)


async def _query(embedder: Embedder) -> float:
    times = []
    for number in range(QUESTIONS):
        begun = time.perf_counter()
        await embedder.embed_query(f"why was the rollout of region {number} frozen?")
        times.append(time.perf_counter() - begun)
    return median(times) * 1e3


async def _query_beside_bulk(embedder: Embedder) -> float:
    async with anyio.create_task_group() as group:
        group.start_soon(embedder.embed_documents, TEXTS * 3)
        await anyio.lowlevel.checkpoint()
        took = await _query(embedder)
        group.cancel_scope.cancel()
    return took


async def _rerank(embedder: Embedder) -> float:
    bits = [chunk.bits for chunk in await embedder.embed_documents(TEXTS[:50]) if chunk.bits is not None]
    tokens = (await embedder.embed_query("why was the rollout of the region frozen?")).tokens
    assert tokens is not None
    times = []
    for _ in range(100):
        begun = time.perf_counter()
        maxsim(np.asarray(tokens), bits)
        times.append(time.perf_counter() - begun)
    return median(times) * 1e3


if __name__ == "__main__":
    report(measure)
