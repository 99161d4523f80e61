"""From passages to chunks: what is embedded of each, measured, and never over the limit."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from recalld.ingest.chunkers.context import Contexts
from recalld.ingest.chunkers.meter import Meter
from recalld.ingest.chunkers.passage import Passage
from recalld.ingest.chunkers.spans import smaller
from recalld.ingest.outline import Lines
from recalld.model import ChunkDraft

MAX_CAPTION_CHARS = 160


def drafts(
    lines: Lines, passages: Sequence[Passage], contexts: Contexts, budget: int, meter: Meter
) -> tuple[ChunkDraft, ...]:
    """Return the chunks of a document in order. A passage that is over ``budget`` after all is divided further."""
    done: list[tuple[Passage, str, int]] = []
    todo = list(passages)
    while todo:
        texts = [_embed_text(lines.text, each, contexts) for each in todo]
        left: list[Passage] = []
        for each, text, tokens in zip(todo, texts, meter.whole(texts), strict=True):
            if tokens <= budget:
                done.append((each, text, tokens))
            else:
                left += _smaller(lines.text, each, budget, tokens)
        todo = left
    done.sort(key=lambda item: (item[0].start, item[0].end))
    return tuple(_draft(lines, number, *item) for number, item in enumerate(done))


def _embed_text(text: str, item: Passage, contexts: Contexts) -> str:
    body = text[item.start : item.end]
    if item.bare:
        return body
    head = (contexts.line(item.context, body), item.caption[:MAX_CAPTION_CHARS])
    return "\n".join([*(part for part in head if part), body])


def _smaller(text: str, item: Passage, budget: int, tokens: int) -> list[Passage]:
    """Return a passage that was too large without its caption, else in pieces, at last without its headings."""
    if item.caption:
        return [replace(item, caption="")]
    length = item.end - item.start
    if length == 1:
        return [] if item.bare else [replace(item, bare=True)]
    found = smaller(text, item.start, item.end, max(1, length * budget // tokens))
    return [replace(item, start=start, end=end) for start, end in found]


def _draft(lines: Lines, ordinal: int, item: Passage, embed_text: str, tokens: int) -> ChunkDraft:
    return ChunkDraft(
        ordinal=ordinal,
        text=lines.text[item.start : item.end],
        embed_text=embed_text,
        heading=item.heading,
        lines=(lines.number(item.start), lines.number(item.end - 1)),
        hash=hashlib.sha256(embed_text.encode("utf-8")).hexdigest(),
        tokens=tokens,
    )
