"""What every embedder offers, local or remote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from recalld.model import ChunkVectors, QueryVectors


class Embedder(Protocol):
    """Turns text into vectors of one space.

    ``fingerprint`` names that space: two embedders with equal fingerprints may serve one index, any other
    pair must not. ``token_limit`` counts special tokens; texts beyond it are the chunker's fault, not silently cut
    (``embed_documents`` raises ValueError). Methods never block the event loop.
    """

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def dimension(self) -> int: ...
    @property
    def token_limit(self) -> int: ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text, special tokens included. Synchronous and cheap."""
        ...

    async def embed_documents(self, texts: Sequence[str]) -> list[ChunkVectors]:
        """Embed passages, in order. Raises DependencyError when a remote model cannot be reached."""
        ...

    async def embed_query(self, text: str) -> QueryVectors:
        """Embed one query. A query over the token limit is cut; that is visible in ``count_tokens``."""
        ...

    async def aclose(self) -> None:
        """Release threads, sessions and connections."""
        ...
