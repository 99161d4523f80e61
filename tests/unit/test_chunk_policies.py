"""The chunk policies: what each promises, and what is refused."""

from __future__ import annotations

from itertools import pairwise

import pytest

from recalld.errors import ConfigError
from recalld.ingest.chunk_policy import ChunkPolicy
from recalld.ingest.chunkers.meter import CountTokens
from recalld.ingest.parse import parse
from tests.support.parsing import byte_pairs, characters, read, recorded, uncovered, word_pieces

SENTENCE = "The ledger was healed by a retry that nobody had expected to work at all. "


@pytest.mark.parametrize(
    "arguments", [{"name": "pages"}, {"tokens": 10}, {"tokens": 100, "overlap": 80}, {"overlap": -1}]
)
def test_policies_that_make_no_sense_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(ConfigError) as caught:
        ChunkPolicy(**arguments)  # type: ignore[arg-type]
    assert caught.value.suggestion


def test_an_embedder_without_room_is_refused() -> None:
    with pytest.raises(ConfigError):
        parse("a.md", b"text", ChunkPolicy(), word_pieces, 8)


def test_sentences_are_packed_whole_and_overlap() -> None:
    text = "# A\n\n" + "".join(f"{SENTENCE}Number {n} says so. " for n in range(60)) + "\n"
    document = read(text, policy=ChunkPolicy("sentences", 120, 30))
    assert len(document.chunks) > 5
    assert all(chunk.text.endswith(".") for chunk in document.chunks)
    for one, other in pairwise(document.chunks):
        shared = other.text.split(". ")[0]
        assert shared in one.text
        assert one.text not in other.text
    assert not uncovered(document)


def test_sentences_keep_code_and_tables_that_fit_whole() -> None:
    fence = "```\n" + "".join(f"step {n}. Then wait.\n" for n in range(6)) + "```"
    document = read(SENTENCE * 10 + "\n\n" + fence + "\n\n" + SENTENCE * 10, policy=ChunkPolicy("sentences", 120, 0))
    assert any(fence in chunk.text for chunk in document.chunks)


def test_fixed_windows_are_full_and_overlap() -> None:
    document = read("# A\n\n" + SENTENCE * 80, policy=ChunkPolicy("fixed", 100, 20))
    counts = word_pieces([chunk.embed_text for chunk in document.chunks])
    assert min(counts[:-1]) > 75
    assert all(one.text[-20:] in other.text for one, other in pairwise(document.chunks))
    assert not uncovered(document)


@pytest.mark.parametrize("name", ["sections", "sentences", "fixed"])
@pytest.mark.parametrize("count", [word_pieces, characters, byte_pairs])
@pytest.mark.parametrize(
    "text",
    [
        "x" * 50_000,
        "数据库索引" * 3_000,
        "word " * 5_000,
        "🙂👩‍👩‍👧‍👦" * 500,
        "a\u0301" * 4_000,
        "# " + "Very long heading " * 400 + "\n\ntext\n",
        "---\nnote: x\ntitle: " + "长标题" * 400 + "\n---\n\n# A\n\n" + SENTENCE * 20,
        "| a | b |\n|---|---|\n| " + SENTENCE * 60 + " | x |\n",
        "- " + SENTENCE * 80 + "\n",
        "```\n" + "y" * 9_000 + "\n```\n",
        "\n".join("#" * (n % 6 + 1) + f" heading {n} of some length" for n in range(200)),
    ],
    ids=range(11),
)
def test_no_chunk_is_over_the_limit(text: str, name: str, count: CountTokens) -> None:
    for tokens, limit in ((200, 256), (64, 64), (200, 48)):
        policy = ChunkPolicy(name, tokens, 16)  # type: ignore[arg-type]
        document = read(text, policy=policy, count=count, limit=limit)
        assert not uncovered(document)
        assert max(chunk.tokens for chunk in document.chunks) <= min(tokens, limit)


def test_an_unknown_word_of_any_length_is_divided() -> None:
    document = read("a" * 100_000)
    assert word_pieces(["a" * 100_000]) == [3]
    assert max(len(chunk.text) for chunk in document.chunks) <= 200 * 8


@pytest.mark.parametrize(("known", "most"), [(word_pieces, 1), (characters, 5)])
def test_the_tokenizer_is_asked_a_few_times_a_document(known: CountTokens, most: int) -> None:
    count, calls = recorded(known)
    parse("warm.md", b"# First\n\nwords\n", ChunkPolicy(), count, 256)
    calls.clear()
    text = "".join(
        f"## Section {n}\n\n{SENTENCE * 5} https://a.example/{n}/{'x' * 60}\n\n- item\n\n" for n in range(100)
    )
    parse("a.md", text.encode(), ChunkPolicy(), count, 256)
    assert len(calls) <= most


def test_equal_bytes_give_equal_chunks_whatever_was_read_before() -> None:
    text = "# A\n\n" + "".join(f"{SENTENCE}Item {n}. " for n in range(50))
    first = parse("a.md", text.encode(), ChunkPolicy(), word_pieces, 256)
    parse("b.md", b"# Other\n\nwords that were never seen before\n", ChunkPolicy(), word_pieces, 256)
    fresh, _ = recorded(word_pieces)
    assert parse("a.md", text.encode(), ChunkPolicy(), word_pieces, 256) == first
    assert parse("a.md", text.encode(), ChunkPolicy(), fresh, 256) == first


def test_the_stored_text_parses_to_the_same_chunks() -> None:
    document = read("\ufeff---\r\ntitle: T\r\n---\r\n# A\r\n\r\nbe\x00fore\r\n")
    again = read(document.text)
    assert again.chunks == document.chunks
