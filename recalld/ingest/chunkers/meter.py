"""Measures text in the embedder's tokens, in as few calls as can be."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

CountTokens = Callable[[Sequence[str]], list[int]]
"""Returns the tokens of each text, special tokens included."""

MAX_CHARS_PER_TOKEN = 8
"""A tokenizer may make one token of a word of any length (WordPiece's unknown word). Text counts at least this."""

MAX_WORDS = 100_000
"""Words whose sizes are remembered for one tokenizer."""
MAX_WORD_CHARS = 40
"""Longer words are seldom met again."""

_PROBE = """
A word, another one; “quoted” -- dashed.  Two  spaces,\ttabs\t\tand

    indented(code, lines=[1, 2.5], **kwargs)  # übergröße naïve 数据库 データ 한국어 🙂 хорошо
| a | table | https://example.org/a/b?c=d#e | snake_case_name | camelCaseName |
- [ ] item\r
1234567890 0x1F xn--unbelievablyAntidisestablishmentarianism e.g. i.e. don't 3.11.0rc1 `code` **bold** ... !?
"""
_ODD_SPACES = re.compile("[\x0b\x0c\x1c-\x1f\x85\u2028\u2029]")


class Meter:
    """Counts tokens of the pieces of one document. ``limit`` is the embedder's: what comes near it is measured whole.

    ``texts`` are what the document is made of: their words are measured at once, so that pieces need no calls.
    """

    def __init__(self, count: CountTokens, limit: int, *texts: str) -> None:
        self._sizes = _sizes(count)
        self._near = limit - limit // 8
        self._long: dict[str, int] = {}
        self._sizes.learn(texts, self._long)

    @property
    def special(self) -> int:
        """The tokens that every text has besides its own."""
        return self._sizes.special

    def whole(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of texts as they would be embedded."""
        counts = self._sizes.of(texts, self._long)
        near = [at for at, count in enumerate(counts) if count >= self._near]
        for at, count in zip(near, self._sizes.exact([texts[at] for at in near]), strict=True):
            counts[at] = count
        return [max(count, floor(text)) for count, text in zip(counts, texts, strict=True)]

    def parts(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens that each text adds to a longer one."""
        counts = self._sizes.of(texts, self._long)
        return [max(count - self.special, floor(text), 1) for count, text in zip(counts, texts, strict=True)]


def floor(text: str) -> int:
    """Return the least that a text counts, whatever the tokenizer says."""
    return -(-len(text) // MAX_CHARS_PER_TOKEN)


@lru_cache(maxsize=8)
def _sizes(count: CountTokens) -> _Sizes:
    return _Sizes(count)


class _Sizes:
    """Sizes of texts by one tokenizer.

    Most tokenizers divide at white space before anything else, so that a text is as large as its words. Where a
    probe shows that of this one, each word is measured once and remembered; any other is asked every time.
    """

    def __init__(self, count: CountTokens) -> None:
        self._count = count
        self._words: dict[str, int] = {}
        words = _PROBE.split()
        self.special, whole, *sizes = count(["", _PROBE, *words])
        self._by_words = whole == self.special + sum(size - self.special for size in sizes)

    def exact(self, texts: Sequence[str]) -> list[int]:
        """Ask the tokenizer."""
        return list(self._count(texts)) if texts else []

    def learn(self, texts: Sequence[str], long: dict[str, int]) -> None:
        """Measure the words of texts; the longest ones, seldom met again, into ``long``."""
        if not self._by_words:
            return
        if len(self._words) > MAX_WORDS:
            self._words = {}
        self._measure({word for text in texts for word in text.split()}, self._words, long)

    def _measure(self, words: Iterable[str], known: dict[str, int], long: dict[str, int]) -> None:
        fresh = [word for word in words if word not in known and word not in long]
        for word, size in zip(fresh, self.exact(fresh), strict=True):
            (known if len(word) <= MAX_WORD_CHARS else long)[word] = size - self.special

    def of(self, texts: Sequence[str], long: dict[str, int]) -> list[int]:
        """Return the tokens of texts, special ones included."""
        if not self._by_words:
            return self.exact(texts)
        known = self._words
        split = [text.split() for text in texts]
        self._measure({word for words in split for word in words}, known, long)
        counts = [self.special + _sum(words, known, long) for words in split]
        odd = [at for at, text in enumerate(texts) if _ODD_SPACES.search(text)]
        for at, count in zip(odd, self.exact([texts[at] for at in odd]), strict=True):
            counts[at] = count
        return counts


def _sum(words: Sequence[str], known: Mapping[str, int], long: Mapping[str, int]) -> int:
    if not long:
        return sum(map(known.__getitem__, words))
    return sum(known[word] if word in known else long[word] for word in words)
