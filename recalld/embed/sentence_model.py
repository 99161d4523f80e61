"""Sentence models as ONNX files: the mean of the token outputs is what is searched, their signs are what reranks."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from anyio import CapacityLimiter, to_thread
from tokenizers import Encoding, Tokenizer

from recalld.concurrent import each
from recalld.embed import runtime
from recalld.embed.pooling import batches, chunk_vectors, query_vectors
from recalld.errors import ConfigError, DependencyError, RecalldError
from recalld.model import ChunkVectors, QueryVectors

TOKEN_LIMIT = 256
"""What MiniLM and its kin were trained for; beyond it quality falls, though up to 512 would run."""
_SLICE = 512
"""Texts that are sorted by length together: more need memory, fewer leave more padding."""
T = TypeVar("T")


class SentenceModel:
    """A model file with its tokenizer, run by a runtime; which one makes no difference to the index.

    ``directory`` holds ``tokenizer.json``; ``version`` is what tells this model from others of the kind.
    """

    token_limit = TOKEN_LIMIT

    def __init__(
        self, name: str, version: str, directory: Path, dimension: int, runtime_: runtime.Runtime, batch_tokens: int
    ) -> None:
        self.name = name
        self.dimension = dimension
        self.runtime = runtime_.name
        self._runtime = runtime_
        self._batch_tokens = batch_tokens
        self._tokenizer: Tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        digest = hashlib.sha256((directory / "tokenizer.json").read_bytes()).hexdigest()
        self.fingerprint = f"{version}-{digest[:12]}-mean-signs-1"
        self._bulk_threads = CapacityLimiter(runtime_.streams)
        self._query_threads = CapacityLimiter(1)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the word pieces of each text, and two."""
        return [len(encoding) for encoding in self._tokenizer.encode_batch_fast(list(texts))]

    async def embed_documents(self, texts: Sequence[str]) -> list[ChunkVectors]:
        """Embed passages in worker threads. Raises ValueError for one beyond the token limit."""
        made: list[ChunkVectors] = []
        for start in range(0, len(texts), _SLICE):
            made += await self._embed(list(texts[start : start + _SLICE]))
        return made

    async def _embed(self, texts: list[str]) -> list[ChunkVectors]:
        encodings = await _in_thread(partial(self._tokenizer.encode_batch_fast, texts), self._bulk_threads)
        lengths = [len(encoding) for encoding in encodings]
        if max(lengths, default=0) > self.token_limit:
            raise ValueError(f"a passage of {max(lengths)} tokens is over the limit of {self.token_limit}")

        waiting = deque(batches(lengths, self._batch_tokens))
        made: dict[int, ChunkVectors] = {}

        def work() -> None:
            for batch in _taken(waiting):
                outputs = self._runtime.bulk(*_padded([encodings[index] for index in batch]))
                for index, output in zip(batch, outputs, strict=True):
                    made[index] = chunk_vectors(output[: lengths[index]])

        try:
            await each(lambda _: _in_thread(work, self._bulk_threads), range(min(self._runtime.streams, len(waiting))))
        finally:
            waiting.clear()
        return [made[index] for index in range(len(texts))]

    async def embed_query(self, text: str) -> QueryVectors:
        """Embed a query in a thread of its own; beyond the token limit it is cut."""
        return await _in_thread(lambda: self._embed_query(text), self._query_threads)

    def _embed_query(self, text: str) -> QueryVectors:
        encoding = self._tokenizer.encode(text)
        encoding.truncate(self.token_limit)
        return query_vectors(self._runtime.single(*_padded([encoding]))[0], special=1)

    async def aclose(self) -> None:
        """Sessions are released with this object."""


def _taken(waiting: deque[T]) -> Iterator[T]:
    """Yield what is left in a queue, from which other threads take, too: none waits for the event loop in between."""
    while True:
        try:
            item = waiting.popleft()
        except IndexError:
            return
        yield item


async def _in_thread(call: Callable[[], T], limiter: CapacityLimiter) -> T:
    return await to_thread.run_sync(call, limiter=limiter, abandon_on_cancel=True)


def _padded(encodings: Sequence[Encoding]) -> tuple[runtime.Ids, runtime.Ids]:
    """Return ids and mask as rectangles."""
    width = max(len(encoding) for encoding in encodings)
    ids = np.zeros((len(encodings), width), np.int64)
    mask = np.zeros_like(ids)
    for row, encoding in enumerate(encodings):
        ids[row, : len(encoding)] = encoding.ids
        mask[row, : len(encoding)] = 1
    return ids, mask


async def loaded_in_thread(load: Callable[[], SentenceModel], kind: str, what: str) -> SentenceModel:
    """Load a model in a worker thread. Raises ConfigError without its runtime, DependencyError where it cannot run."""
    try:
        return await to_thread.run_sync(load)
    except RecalldError:
        raise
    except ImportError as error:
        raise ConfigError(
            f"embed.runtime {kind} is not installed: {error}", suggestion="pip install 'recalld[openvino]'"
        ) from error
    except Exception as error:  # those of ONNX Runtime, OpenVINO and tokenizers have no class in common
        raise DependencyError(f"{what} cannot be loaded: {error}") from error


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
