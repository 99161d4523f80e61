"""What holds for every document: chunks are verbatim, in order, within the limit, and no line is lost."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from recalld.ingest.chunk_policy import ChunkPolicy
from recalld.ingest.parse import read as reading
from tests.support.parsing import byte_pairs, characters, read, uncovered, word_pieces

_WORDS = st.lists(
    st.text(alphabet="abcdefgh ÄÖ数据.!?…,\u0301🙂_-/`*", min_size=1, max_size=12), min_size=1, max_size=60
)
_PARAGRAPH = _WORDS.map(" ".join)
_BLOCKS = st.one_of(
    _PARAGRAPH,
    st.tuples(st.integers(1, 6), st.text(alphabet="abc #", max_size=30)).map(lambda t: "#" * t[0] + " " + t[1]),
    st.lists(_PARAGRAPH, min_size=1, max_size=8).map(lambda rows: "```\n" + "\n".join(rows) + "\n```"),
    st.lists(_PARAGRAPH, min_size=1, max_size=8).map(lambda rows: "\n".join(f"- {row}" for row in rows)),
    st.lists(st.text(alphabet="ab1 ", max_size=20), min_size=1, max_size=12).map(
        lambda rows: "| a | b |\n|---|---|\n" + "\n".join(f"| {row} | x |" for row in rows)
    ),
    st.sampled_from(
        ["---", "> quote\nlazy", "<div>\n\n</div>", "    code\n\n    code", "[a]: b", "***", "```", "~~~~", "\t\tx"]
    ),
    st.integers(1, 3_000).map(lambda n: "z" * n),
)
MARKDOWN = st.lists(_BLOCKS, max_size=12).map("\n\n".join)
POLICIES = st.builds(
    ChunkPolicy,
    st.sampled_from(["sections", "sentences", "fixed"]),
    st.integers(32, 300),
    st.integers(0, 16),
)


@given(
    MARKDOWN,
    st.sampled_from(["a.md", "a.rst", "a.txt", "a.py", "a.yaml", "a.log", "a.csv"]),
    POLICIES,
    st.sampled_from([word_pieces, characters, byte_pairs]),
    st.integers(32, 512),
)
@example("---\n\n---\n\n?", "a.md", ChunkPolicy("sections", 32, 0), word_pieces, 32)
@settings(max_examples=150, deadline=None)
def test_chunks(text: str, path: str, policy: ChunkPolicy, count: object, limit: int) -> None:
    document = read(text, path, policy, count, limit)  # type: ignore[arg-type]
    front = reading(path, text.encode()).front
    assert not front.values  # two rules with nothing between are frontmatter that says nothing, and no text
    assert not uncovered(document, front.body)
    starts = [chunk.lines[0] for chunk in document.chunks]
    assert starts == sorted(starts)


@given(MARKDOWN, st.integers(32, 300))
@settings(max_examples=100, deadline=None)
def test_sections_never_overlap_and_cut_lines_only_where_one_alone_is_too_long(text: str, tokens: int) -> None:
    document = read(text, policy=ChunkPolicy("sections", tokens, 0))
    lines = document.text.split("\n")
    behind = 0
    for chunk in document.chunks:
        first, last = chunk.lines
        whole = "\n".join(lines[first - 1 : last])
        at = document.text.index(chunk.text, behind)
        behind = at + len(chunk.text)
        longest = max(word_pieces(lines[first - 1 : last]))
        room = tokens - tokens // 3 - 2
        assert (
            chunk.text.strip() == whole.strip() or longest > room or max(map(len, lines[first - 1 : last])) > room * 3
        )
