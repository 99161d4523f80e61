"""What stands where in the index that is asked: chunks by id, and how they relate to the gold of a task."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from recalld.evaluate.corpus import Corpus
from recalld.evaluate.metrics.spans import Places, Span
from recalld.evaluate.tasks import Gold, Task
from recalld.store.rows import HeldChunk


class Catalogue:
    """The chunks of one index, with their places in the documents that they were cut from."""

    def __init__(self, chunks: Sequence[HeldChunk], corpus: Corpus) -> None:
        self.chunks: Mapping[int, HeldChunk] = {chunk.id: chunk for chunk in chunks}
        self.by_path: dict[str, list[HeldChunk]] = {}
        for chunk in chunks:
            self.by_path.setdefault(chunk.path, []).append(chunk)
        self._corpus = corpus
        self._texts: dict[str, tuple[str, list[int]]] = {}

    def documents(self, chunk_ids: Iterable[int]) -> tuple[str, ...]:
        """Return the documents of chunks, each where its first chunk stands."""
        return tuple(dict.fromkeys(self.chunks[id_].path for id_ in chunk_ids if id_ in self.chunks))

    def newest_first(self) -> list[str]:
        """Return the documents by the time when their files were last changed, then by path."""
        return [path for path in self._corpus.newest_first if path in self.by_path]

    def tokens(self, chunk_ids: Iterable[int]) -> int:
        """Return how many tokens chunks are together."""
        return sum(self.chunks[id_].tokens for id_ in chunk_ids if id_ in self.chunks)

    def shown(self, chunk_ids: Iterable[int]) -> Places:
        """Return the characters of documents that chunks show."""
        shown: dict[str, list[Span]] = {}
        for id_ in chunk_ids:
            shown.setdefault(self.chunks[id_].path, []).append(self.span(id_))
        return shown

    def shown_within(self, chunk_ids: Iterable[int], tokens: int) -> Places:
        """Return what chunks show in so many tokens; the last one is cut where they end."""
        shown: dict[str, list[Span]] = {}
        for id_ in chunk_ids:
            chunk, (start, end) = self.chunks[id_], self.span(id_)
            share = min(1.0, tokens / chunk.tokens)
            shown.setdefault(chunk.path, []).append((start, start + round(share * (end - start))))
            tokens -= chunk.tokens
            if tokens <= 0:
                break
        return shown

    def span(self, chunk_id: int) -> Span:
        """Return the characters of its document that a chunk is."""
        chunk = self.chunks[chunk_id]
        text, starts = self._text(chunk.path)
        begin = starts[min(chunk.lines[0] - 1, len(starts) - 1)]
        found = text.find(chunk.text, begin)
        start = begin if found < 0 else found
        return start, start + len(chunk.text)

    def spans(self, gold: Gold) -> Span | None:
        """Return the characters that a gold passage is; None where it means the whole document."""
        if gold.span is not None:
            return gold.span
        if gold.lines is None or gold.path not in self._corpus.files:
            return None
        text, starts = self._text(gold.path)
        first, last = gold.lines
        end = starts[last] if last < len(starts) else len(text)
        return starts[min(first, len(starts)) - 1], end

    def relevant(self, task: Task) -> frozenset[int]:
        """Return the chunks that hold gold: those that touch a passage, or all of a document."""
        found: set[int] = set()
        for gold in task.gold:
            wanted = self.spans(gold)
            for chunk in self.by_path.get(gold.path, ()):
                if wanted is None or _touch(self.span(chunk.id), wanted):
                    found.add(chunk.id)
        return frozenset(found)

    def line_at(self, path: str, character: int) -> int:
        """Return the line (1-based) that a character stands in."""
        return bisect_right(self._text(path)[1], character)

    def _text(self, path: str) -> tuple[str, list[int]]:
        """Return a document's text with LF line ends, and where each of its lines begins."""
        if path not in self._texts:
            text = self._corpus.text(path)
            self._texts[path] = text, [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
        return self._texts[path]


def _touch(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]
