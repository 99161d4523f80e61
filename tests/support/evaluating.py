"""Small corpora and indexes for tests of the instrument, made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recalld.evaluate.catalogue import Catalogue
from recalld.evaluate.corpus import Corpus
from recalld.evaluate.observation import Observation, Stage
from recalld.model import FileStat
from recalld.store.rows import HeldChunk


def corpus(files: Mapping[str, str]) -> Corpus:
    """Return a corpus of texts; each file is a second older than the one before it."""
    return Corpus(
        {
            path: (text.encode(), FileStat(len(text), 10**18 - number * 10**9, 0, number))
            for number, (path, text) in enumerate(files.items())
        }
    )


def catalogue(files: Mapping[str, Sequence[str]], tokens: int = 10) -> Catalogue:
    """Return an index of files given as paragraphs, each a line, a blank line, and a chunk of so many tokens.

    Chunks have ids from 1 on.
    """
    chunks = [
        (path, (2 * number + 1, 2 * number + 1), text)
        for path, paragraphs in files.items()
        for number, text in enumerate(paragraphs)
    ]
    held = [HeldChunk(id_, path, lines, tokens, text) for id_, (path, lines, text) in enumerate(chunks, start=1)]
    return Catalogue(held, corpus({path: "\n\n".join(paragraphs) + "\n" for path, paragraphs in files.items()}))


def observation(
    *,
    retrieved: Sequence[int] = (),
    fused: Sequence[int] | None = None,
    reranked: Sequence[int] | None = None,
    admitted: Sequence[int] | None = None,
    answered: Sequence[int] | None = None,
    withheld: Mapping[int, str] | None = None,
    confidence: float | None = None,
    score: float = 0.0,
) -> Observation:
    """Return an observation; a stage that is not given has what the one before it had."""
    stages: dict[Stage, Sequence[int]] = {Stage.RETRIEVED: retrieved}
    last = retrieved
    for stage, given in zip(list(Stage)[1:], (fused, reranked, admitted, answered), strict=True):
        last = last if given is None else given
        stages[stage] = last
    return Observation(stages, 1.0, {}, score, confidence, withheld or {})
