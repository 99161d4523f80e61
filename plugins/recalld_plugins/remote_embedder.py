"""An embedder behind an HTTP API: batches, retries, and errors that say what to do. Shared by openai and voyage."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx
import numpy as np
from tokenizers import Tokenizer

from recalld.embed.minilm import packaged_tokenizer
from recalld.errors import ConfigError, DependencyError
from recalld.model import ChunkVectors, QueryVectors, Vector

log = logging.getLogger(__name__)

RETRIES = 4
BACKOFF_S = 0.5
LONGEST_WAIT_S = 60.0
MARGIN = 1.25
"""Tokens are counted with the packaged vocabulary, not the provider's: texts are taken for a quarter longer."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A provider's endpoint and how it is asked. ``body`` builds a request from texts and whether they are a query."""

    name: str
    model: str
    url: str
    key: str
    body: Callable[[Sequence[str], bool], Mapping[str, Any]]
    token_limit: int
    batch: int = 64
    timeout_s: float = 30.0
    dimension: int | None = None


class RemoteEmbedder:
    """Pooled vectors from an API; there are no token vectors, so searches are not reranked by late interaction."""

    def __init__(self, remote: Remote, client: httpx.AsyncClient, sleep: Callable[[float], Any] = anyio.sleep) -> None:
        self.name = remote.name
        self.token_limit = remote.token_limit
        self._remote = remote
        self._client = client
        self._sleep = sleep
        self._dimension = remote.dimension
        self._tokenizer: Tokenizer = packaged_tokenizer()

    @classmethod
    async def connect(cls, remote: Remote, sleep: Callable[[float], Any] = anyio.sleep) -> RemoteEmbedder:
        """Return an embedder once one text was embedded, which tells the dimension and that the key is right.

        Raises ConfigError (key or model refused), DependencyError (not reachable).
        """
        client = httpx.AsyncClient(timeout=remote.timeout_s, headers={"Authorization": f"Bearer {remote.key}"})
        embedder = cls(remote, client, sleep)
        try:
            (probe,) = await embedder._embed(["recalld"], query=True)
        except BaseException:
            await client.aclose()
            raise
        embedder._dimension = len(probe)
        return embedder

    @property
    def dimension(self) -> int:
        """The length of the vectors, as the provider gave them."""
        assert self._dimension is not None
        return self._dimension

    @property
    def fingerprint(self) -> str:
        """Provider, address, model and dimension."""
        return f"{self.name}-{self._remote.url}-{self._remote.model}-{self.dimension}"

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return an upper estimate of each text's tokens."""
        return [int(len(encoding) * MARGIN) + 1 for encoding in self._tokenizer.encode_batch_fast(list(texts))]

    async def embed_documents(self, texts: Sequence[str]) -> list[ChunkVectors]:
        """Embed passages. Raises ValueError for one beyond the token limit, DependencyError, ConfigError."""
        if max(self.count_tokens(texts), default=0) > self.token_limit:
            raise ValueError(f"a passage may be over {self.token_limit} tokens")
        made: list[ChunkVectors] = []
        for start in range(0, len(texts), self._remote.batch):
            vectors = await self._embed(texts[start : start + self._remote.batch], query=False)
            made += [ChunkVectors(vector, None) for vector in vectors]
        return made

    async def embed_query(self, text: str) -> QueryVectors:
        """Embed a query."""
        (vector,) = await self._embed([text], query=True)
        return QueryVectors(vector, None)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _embed(self, texts: Sequence[str], *, query: bool) -> list[Vector]:
        body = dict(self._remote.body(texts, query))
        response = await self._post(body)
        return self._vectors(response, len(texts))

    async def _post(self, body: Mapping[str, Any]) -> httpx.Response:
        """Ask, and ask again while the trouble is one that passes."""
        pause = BACKOFF_S
        for attempt in range(RETRIES + 1):
            try:
                response = await self._client.post(self._remote.url, json=body)
            except httpx.HTTPError as error:
                trouble, wait = f"{type(error).__name__}: {error}", pause
            else:
                if response.status_code < 400:
                    return response
                if response.status_code not in (408, 409, 425, 429) and response.status_code < 500:
                    raise self._refused(response)
                trouble, wait = f"HTTP {response.status_code}", _retry_after(response) or pause
            if attempt < RETRIES:
                log.info("%s: %s, again in %.1f s", self.name, trouble, wait)
                await self._sleep(min(wait, LONGEST_WAIT_S))
                pause *= 2
        raise DependencyError(
            f"{self.name} at {self._remote.url} does not embed: {trouble}",
            suggestion="check the provider's status and the network; it is tried again by itself",
        )

    def _refused(self, response: httpx.Response) -> ConfigError | DependencyError:
        said = response.text[:200].replace(self._remote.key, "********") if self._remote.key else response.text[:200]
        if response.status_code in (401, 403):
            return ConfigError(f"{self.name} refuses the key", suggestion="check embed.options.key or its file")
        if response.status_code == 404:
            return ConfigError(
                f"{self.name} knows no model {self._remote.model} at {self._remote.url}: {said}",
                suggestion="check embed.options.model and base_url",
            )
        return DependencyError(f"{self.name} refuses the request: HTTP {response.status_code}: {said}")

    def _vectors(self, response: httpx.Response, count: int) -> list[Vector]:
        """Read a reply. Raises DependencyError when it is not what was asked for."""
        try:
            rows = sorted(response.json()["data"], key=lambda row: row["index"])
            vectors = [np.asarray(row["embedding"], dtype=np.float32) for row in rows]
        except (ValueError, KeyError, TypeError) as error:
            raise DependencyError(f"{self.name} sent a reply that is none: {type(error).__name__}") from error
        if len(vectors) != count:
            raise DependencyError(f"{self.name} sent {len(vectors)} vectors for {count} texts")
        lengths = {len(vector) for vector in vectors}
        if len(lengths) != 1 or (self._dimension is not None and lengths != {self._dimension}):
            raise DependencyError(f"{self.name} sent vectors of {sorted(lengths)} instead of {self._dimension} numbers")
        return [_unit(vector) for vector in vectors]


def read_key(options: Mapping[str, Any], credential: str, variable: str) -> str:
    """Return the key from ``options.key``, ``options.key_file``, a systemd credential or the environment.

    Raises ConfigError when there is none.
    """
    if options.get("key"):
        return str(options["key"])
    directory = os.environ.get("CREDENTIALS_DIRECTORY")
    places = [Path(options["key_file"])] if options.get("key_file") else []
    places += [Path(directory) / credential] if directory else []
    for place in places:
        try:
            return place.read_text("utf-8").strip()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise ConfigError(f"{place} cannot be read: {error.strerror}") from error
    if os.environ.get(variable):
        return os.environ[variable]
    raise ConfigError(
        f"there is no key for {credential}",
        suggestion=f"set {variable}, embed.options.key_file, or the systemd credential {credential}",
    )


def _retry_after(response: httpx.Response) -> float | None:
    try:
        return max(0.0, float(response.headers["Retry-After"]))
    except (KeyError, ValueError):
        return None


def _unit(vector: Vector) -> Vector:
    unit: Vector = vector / max(float(np.linalg.norm(vector)), 1e-12)
    return unit
