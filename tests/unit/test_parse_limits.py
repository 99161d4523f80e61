"""No input makes reading slow: twice the text takes about twice the time, and nothing nests too deeply."""

from __future__ import annotations

import gc
import time

import pytest

from recalld.ingest.chunk_policy import ChunkPolicy
from recalld.ingest.parse import parse
from tests.support.parsing import word_pieces

PATTERNS = {
    "brackets": "[",
    "bracket lines": "[\n",
    "backticks": "`",
    "links": "[a](",
    "wiki": "[[",
    "quotes": "> ",
    "quote lines": "> a\n",
    "bullets": "- ",
    "items": "- item\n",
    "loose items": "- item\n\n",
    "headings": "# h\n",
    "empty sections": "# a\n## b\n### c\n",
    "setext": "a\n---\n",
    "fences": "```\n",
    "rows": "|a|b|\n",
    "cells": "|a",
    "references": "[a]: b\n",
    "html": "<a ",
    "comments": "<!--\n",
    "emphasis": "_a",
    "sentences": ". ",
    "words": "word ",
    "one word": "a",
    "camel": "aB",
    "combining": "\u0301",
    "chinese": "数据",
    "keys": "key: value\n",
    "status": "**Status:** x\n",
    "indents": "    x\n",
    "blank": "\n",
    "open yaml": "- [\n",
}


def seconds(text: str, path: str) -> float:
    """Return the time of this thread's work, the least of two, without what the collector had to do."""
    gc.collect()
    gc.disable()
    try:
        return min(_once(text, path) for _ in range(2))
    finally:
        gc.enable()


def _once(text: str, path: str) -> float:
    begun = time.thread_time()
    parse(path, text.encode(), ChunkPolicy(), word_pieces, 256)
    return time.thread_time() - begun


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("path", ["a.md", "a.rst", "a.yaml", "a.py"])
def test_time_grows_with_size_and_not_with_its_square(name: str, path: str) -> None:
    pattern = PATTERNS[name]
    count = 12_000 // len(pattern)
    seconds(pattern * 100, path)
    small = seconds(pattern * count, path)
    large = seconds(pattern * count * 3, path)
    assert large < max(6 * small, 0.5)


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(" " * 2 * depth + "- x" for depth in range(600)),
        "\n".join(">" * depth + " x" for depth in range(600)),
        "\n".join("#" * (depth % 6 + 1) + " x" for depth in range(5_000)),
        "[" * 50_000 + "]" * 50_000,
        "{" * 50_000,
        "(" * 50_000,
        "if x:\n" + "\n".join("  " * depth + "if x:" for depth in range(300)),
    ],
    ids=["list", "quote", "headings", "brackets", "braces", "parentheses", "code"],
)
@pytest.mark.parametrize("path", ["a.md", "a.rst", "a.json", "a.yaml", "a.toml", "a.py", "a.js", "a.c"])
def test_deep_nesting(text: str, path: str) -> None:
    document = parse(path, text.encode(), ChunkPolicy(), word_pieces, 256)
    assert document.chunks


def test_a_megabyte_on_one_line() -> None:
    text = "The ledger was healed by a retry. " * 30_000
    document = parse("a.md", text.encode(), ChunkPolicy(), word_pieces, 256)
    assert len(document.chunks) > 1_000
    assert {chunk.lines for chunk in document.chunks} == {(1, 1)}


def test_eight_megabytes() -> None:
    text = ("## Section\n\n" + "The ledger was healed by a retry. " * 40 + "\n\n") * 6_000
    assert len(text) > 8_000_000
    begun = time.process_time()
    document = parse("a.md", text.encode(), ChunkPolicy(), word_pieces, 256)
    assert len(document.chunks) >= 6_000
    assert time.process_time() - begun < 60
