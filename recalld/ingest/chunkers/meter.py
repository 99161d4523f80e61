"""Measures text in the embedder's tokens, in as few calls as can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence

CountTokens = Callable[[Sequence[str]], list[int]]
"""Returns the tokens of each text, special tokens included."""

MAX_CHARS_PER_TOKEN = 8
"""A tokenizer may make one token of a word of any length (WordPiece's unknown word). Text counts at least this."""


class Meter:
    """Counts tokens and remembers what the special ones of each text come to."""

    def __init__(self, count: CountTokens) -> None:
        self._count = count
        self.special = count([""])[0]

    def whole(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of texts as they would be embedded."""
        counts = self._count(texts) if texts else []
        return [max(count, floor(text)) for count, text in zip(counts, texts, strict=True)]

    def parts(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens that each text adds to a longer one."""
        counts = self._count(texts) if texts else []
        return [max(count - self.special, floor(text), 1) for count, text in zip(counts, texts, strict=True)]


def floor(text: str) -> int:
    """Return the least that a text counts, whatever the tokenizer says."""
    return -(-len(text) // MAX_CHARS_PER_TOKEN)
