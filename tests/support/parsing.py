"""Parsing in tests: with the packaged tokenizer, and checks that hold for every document."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib import resources

from tokenizers import Tokenizer

from recalld.ingest.chunk_policy import ChunkPolicy
from recalld.ingest.chunkers.meter import CountTokens
from recalld.ingest.parse import parse
from recalld.model import Edge, ParsedDocument

LIMIT = 256


@cache
def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer.from_str((resources.files("recalld.data.minilm") / "tokenizer.json").read_text("utf-8"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def word_pieces(texts: Sequence[str]) -> list[int]:
    """Count as the packaged model's tokenizer does."""
    return [len(encoding) for encoding in _tokenizer().encode_batch_fast(list(texts))]


def characters(texts: Sequence[str]) -> list[int]:
    """Count characters, white space as well: a tokenizer whose words do not add up."""
    return [len(text) + 2 for text in texts]


def byte_pairs(texts: Sequence[str]) -> list[int]:
    """Count pairs of bytes, as tokenizers that know neither words nor characters."""
    return [len(text.encode()) // 2 + 1 for text in texts]


def read(
    text: str | bytes,
    path: str = "note.md",
    policy: ChunkPolicy | None = None,
    count: CountTokens = word_pieces,
    limit: int = LIMIT,
) -> ParsedDocument:
    """Parse and check what must hold for any input."""
    content = text.encode() if isinstance(text, str) else text
    document = parse(path, content, policy or ChunkPolicy(), count, limit)
    check(document, count, limit)
    return document


def check(document: ParsedDocument, count: CountTokens = word_pieces, limit: int = LIMIT) -> None:
    """Assert that chunks are verbatim, within the limit and in order, and that all of it can be stored."""
    text, lines = document.text, document.text.split("\n")
    assert "\r" not in text
    assert "\x00" not in text
    text.encode("utf-8")
    for number, chunk in enumerate(document.chunks):
        first, last = chunk.lines
        assert chunk.ordinal == number
        assert 1 <= first <= last <= len(lines)
        assert chunk.text.strip()
        assert chunk.text in "\n".join(lines[first - 1 : last])
        assert chunk.text.split("\n")[0] in lines[first - 1]
        assert chunk.text.split("\n")[-1] in lines[last - 1]
        assert chunk.embed_text.endswith(chunk.text)
        assert chunk.hash == hashlib.sha256(chunk.embed_text.encode()).hexdigest()
    if document.chunks:
        counts = count([chunk.embed_text for chunk in document.chunks])
        assert max(counts) <= limit
        assert all(chunk.tokens >= counted for chunk, counted in zip(document.chunks, counts, strict=True))
    stored = json.dumps([dict(document.metadata), document.title, document.tags, document.aliases], ensure_ascii=False)
    stored.encode("utf-8")
    assert "\\u0000" not in stored


def uncovered(document: ParsedDocument, first: int = 1) -> list[str]:
    """Return the lines from ``first`` on that are not blank and in no chunk."""
    covered = {line for chunk in document.chunks for line in range(chunk.lines[0], chunk.lines[1] + 1)}
    lines = document.text.split("\n")
    return [text for number, text in enumerate(lines, 1) if number >= first and text.strip() and number not in covered]


def codes(document: ParsedDocument) -> list[str]:
    """Return the codes of a document's findings."""
    return [finding.code for finding in document.findings]


def declared(document: ParsedDocument) -> list[tuple[str, str, str]]:
    """Return kind, target and source of the relations that a document declares; links left out."""
    return [(edge.kind, edge.target, edge.source) for edge in document.edges if edge.kind != "link"]


def links(document: ParsedDocument) -> list[Edge]:
    """Return a document's links."""
    return [edge for edge in document.edges if edge.kind == "link"]


def recorded(count: CountTokens) -> tuple[CountTokens, list[int]]:
    """Return a counter that notes how many texts it was asked for in each call."""
    calls: list[int] = []

    def counting(texts: Sequence[str]) -> list[int]:
        calls.append(len(texts))
        return count(texts)

    return counting, calls
