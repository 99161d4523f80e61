"""An embedder behind an HTTP API: batches, retries, and errors that say what to do. Shared by openai and voyage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx
import numpy as np

from recalld.errors import DependencyError
from recalld.model import ChunkVectors, QueryVectors, Vector
from recalld_plugins.remote import Counter, Endpoint, Sleep, patiently


@dataclass(frozen=True, slots=True)
class Remote:
    """A provider's endpoint and how it is asked. ``body`` builds a request from texts and whether they are a query."""

    name: str
    model: str
    url: str
    key: str = field(repr=False)
    body: Callable[[Sequence[str], bool], Mapping[str, Any]]
    token_limit: int
    batch: int = 64
    timeout_s: float = 30.0
    dimension: int | None = None


class RemoteEmbedder:
    """Pooled vectors from an API; there are no token vectors, so searches are not reranked by late interaction."""

    def __init__(self, remote: Remote, client: httpx.AsyncClient, sleep: Sleep = anyio.sleep) -> None:
        self.name = remote.name
        self.token_limit = remote.token_limit
        self._remote = remote
        self._client = client
        self._sleep = sleep
        self._dimension = remote.dimension
        self._counter = Counter()
        self._endpoint = Endpoint(remote.name, remote.model, remote.url, "embed", "embed.options", (remote.key,))

    @classmethod
    async def connect(cls, remote: Remote, sleep: Sleep = anyio.sleep) -> RemoteEmbedder:
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
        return self._counter.count(texts)

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

        async def attempt() -> httpx.Response:
            response = await self._client.post(self._remote.url, json=body)
            if response.status_code < 400:
                return response
            raise self._endpoint.refusal(response, response.text)

        return await patiently(self._endpoint, attempt, self._sleep)

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


def _unit(vector: Vector) -> Vector:
    unit: Vector = vector / max(float(np.linalg.norm(vector)), 1e-12)
    return unit
