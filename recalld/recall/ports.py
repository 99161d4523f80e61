"""What retrieval needs of the rest of the house: a lexical leg, a vector leg, chunks, an embedder, an analyzer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from recalld.model import Filters, QueryVectors, StoredChunk, TokenBits, Vector

Ranking = Sequence[tuple[int, float]]
"""Chunk ids with their scores, best first."""


class Owner(Protocol):
    """Where a chunk stands: all that ordering and overlap suppression need, without its text."""

    @property
    def document_id(self) -> int: ...
    @property
    def ordinal(self) -> int: ...
    @property
    def lines(self) -> tuple[int, int]: ...
    @property
    def hash(self) -> str: ...


class LexicalLeg(Protocol):
    """BM25 over the chunks of one generation."""

    async def search(self, generation_id: int, terms: Sequence[str], k: int, filters: Filters) -> Ranking: ...


class VectorLeg(Protocol):
    """Cosine over the chunks of one generation, and what is stored of their embeddings."""

    async def search(self, generation_id: int, vector: Vector, k: int, filters: Filters) -> Ranking: ...
    async def bits(self, chunk_ids: Sequence[int]) -> Mapping[int, TokenBits]: ...
    async def cosines(self, vector: Vector, chunk_ids: Sequence[int]) -> Mapping[int, float]: ...


class ChunkReader(Protocol):
    """Chunks by id. One that was deleted in the meantime is left out, never an error."""

    async def fetch(self, chunk_ids: Sequence[int]) -> Sequence[StoredChunk]: ...
    async def owners(self, chunk_ids: Sequence[int]) -> Mapping[int, Owner]: ...
    async def of_documents(self, generation_id: int, document_ids: Sequence[int]) -> Mapping[int, Sequence[int]]: ...


class Index(Protocol):
    """The store, as far as retrieval sees it."""

    @property
    def lexical(self) -> LexicalLeg: ...
    @property
    def vectors(self) -> VectorLeg: ...
    @property
    def chunks(self) -> ChunkReader: ...


class QueryEmbedder(Protocol):
    """The part of an embedder that a query needs."""

    @property
    def fingerprint(self) -> str: ...
    async def embed_query(self, text: str) -> QueryVectors: ...


class QueryAnalyzer(Protocol):
    """The part of the lexical analyzer that a query needs."""

    def query(self, text: str) -> Sequence[str]: ...
