"""Questions proposed from a memory's own passages, for a person to accept, to put better, or to leave.

A program cannot know what people will ask. It can find passages that say something, one of each document before the
second of any, and a way to ask for them that does not give the answer away: a heading that is a question already, or a
sentence with a gap where its rarest word stood.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from recalld.embed.hashing import HashingEmbedder
from recalld.evaluate.corpus import Corpus
from recalld.evaluate.tasks import Gold, Task
from recalld.ingest.chunk_policy import ChunkPolicy
from recalld.ingest.parse import parse
from recalld.model import ChunkDraft
from recalld.trust.compare import content_words
from recalld.trust.probes import sentences

GAP = "..."
CATEGORY = "proposed"
_WORD = re.compile(r"\w+(?:[.,'-]\w+)*")


@dataclass(frozen=True, slots=True)
class Proposal:
    """A task with the passage that it was made from."""

    task: Task
    passage: str

    @property
    def place(self) -> str:
        """Where the passage stands, as ``path:first-last``."""
        gold = self.task.gold[0]
        first, last = gold.lines or (1, 1)
        return f"{gold.path}:{first}-{last}"


def propose(corpus: Corpus, rng: random.Random, known: Sequence[Task] = ()) -> Iterator[Proposal]:
    """Yield proposals without end but that of the passages; passages that a known task asks for are left out."""
    taken = {(gold.path, gold.lines) for task in known for gold in task.gold}
    passages = {
        path: _shuffled(_passages(corpus, path), rng) for path in rng.sample(list(corpus.files), len(corpus.files))
    }
    frequency = Counter(word for path in corpus.files for word in set(content_words(corpus.text(path))))
    for turn in zip_longest(*([(path, chunk) for chunk in chunks] for path, chunks in passages.items())):
        for path, chunk in (pair for pair in turn if pair is not None):
            query = _question(chunk, frequency)
            if query and (path, chunk.lines) not in taken:
                gold = Gold(path=path, lines=chunk.lines)
                yield Proposal(
                    Task(id=f"{path}:{chunk.lines[0]}", query=query, gold=(gold,), category=CATEGORY), chunk.text
                )


def _passages(corpus: Corpus, path: str) -> list[ChunkDraft]:
    counter = HashingEmbedder()
    parsed = parse(path, corpus.files[path][0], ChunkPolicy(), counter.count_tokens, counter.token_limit)
    return list(parsed.chunks)


def _shuffled(chunks: list[ChunkDraft], rng: random.Random) -> list[ChunkDraft]:
    return rng.sample(chunks, len(chunks))


def _question(chunk: ChunkDraft, frequency: Counter[str]) -> str:
    """Return a question that the passage answers; empty where it says nothing to ask for."""
    heading = chunk.heading[-1] if chunk.heading else ""
    if heading.endswith("?"):
        return heading
    gaps = [gap for sentence in sentences(chunk.text) if (gap := _gap(sentence, frequency))]
    return min(gaps)[1] if gaps else ""


def _gap(sentence: str, frequency: Counter[str]) -> tuple[int, str] | None:
    """Return how many documents have a sentence's rarest word, and the sentence without it."""
    words = [
        (frequency[word[0]], -len(match[0]), match)
        for match in _WORD.finditer(sentence)
        if (word := content_words(match[0]))
    ]
    if not words:
        return None
    rarity, _, match = min(words, key=lambda word: word[:2])
    return rarity, f"{sentence[: match.start()]}{GAP}{sentence[match.end() :]}"
