"""One chunker a policy: outline to chunks."""

from __future__ import annotations

from recalld.errors import ConfigError
from recalld.ingest.chunk_policy import MIN_TOKENS, ChunkPolicy
from recalld.ingest.chunkers import sections, windows
from recalld.ingest.chunkers.context import Contexts
from recalld.ingest.chunkers.drafts import drafts
from recalld.ingest.chunkers.meter import CountTokens, Meter
from recalld.ingest.outline import Lines, Outline
from recalld.model import ChunkDraft


def cut(
    lines: Lines, outline: Outline, title: str, policy: ChunkPolicy, count_tokens: CountTokens, token_limit: int
) -> tuple[ChunkDraft, ...]:
    """Return a document's chunks. Raises ConfigError for an embedder whose limit has no room for a sentence."""
    if token_limit < MIN_TOKENS:
        raise ConfigError(
            f"an embedder that takes {token_limit} tokens holds no sentence", suggestion="set embed.model to another"
        )
    budget = min(policy.tokens, token_limit)
    meter = Meter(count_tokens, token_limit, title, lines.text)
    contexts = Contexts(title, (section.heading for section in outline.sections), budget, meter)
    if policy.name == "sections":
        passages = sections.cut(lines, outline, contexts, meter)
    elif policy.name == "sentences":
        passages = windows.sentences(lines, outline, contexts.least_room, policy.overlap, meter)
    else:
        passages = windows.fixed(lines, outline, contexts.least_room, policy.overlap, meter)
    return drafts(lines, passages, contexts, budget, meter)
