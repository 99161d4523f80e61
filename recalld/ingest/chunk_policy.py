"""How documents are cut into chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from recalld.errors import ConfigError

PolicyName = Literal["sections", "sentences", "fixed"]

MIN_TOKENS = 32
"""Below this a chunk has no room for its heading and a sentence."""


@dataclass(frozen=True, slots=True)
class ChunkPolicy:
    """``tokens`` is a chunk's size with its heading, ``overlap`` what neighbours share (sentences and fixed only).

    ``sections`` follows the document's structure, ``sentences`` packs whole sentences, ``fixed`` counts words.
    Raises ConfigError when the numbers leave no room for text.
    """

    name: PolicyName = "sections"
    tokens: int = 200
    overlap: int = 30

    def __post_init__(self) -> None:
        if self.name not in ("sections", "sentences", "fixed"):
            raise ConfigError(f"there is no chunk policy {self.name!r}", suggestion="use sections, sentences or fixed")
        if self.tokens < MIN_TOKENS:
            raise ConfigError(
                f"chunks of {self.tokens} tokens hold no sentence",
                suggestion=f"set ingest.chunk_tokens to {MIN_TOKENS} or more",
            )
        if not 0 <= self.overlap <= self.tokens // 2:
            raise ConfigError(
                f"an overlap of {self.overlap} of {self.tokens} tokens repeats more than it adds",
                suggestion=f"set ingest.overlap_tokens to {self.tokens // 2} or less",
            )
