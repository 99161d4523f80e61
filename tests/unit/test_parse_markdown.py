"""Markdown: headings, fences, tables and lists become chunks that are exact lines of the text."""

from __future__ import annotations

from recalld.ingest.chunk_policy import ChunkPolicy
from tests.support.parsing import codes, links, read, uncovered, word_pieces

PROSE = "The retry budget of the ledger is spent by clients that never back off, so the queue grows. "


def long_section(title: str, sentences: int = 16) -> str:
    return f"## {title}\n\n" + "".join(f"{PROSE}Item {number}.\n" for number in range(sentences)) + "\n"


def test_a_short_memo_is_one_chunk_with_its_title_once() -> None:
    document = read("# Cache TTL\n\nThe cache keeps entries for ten minutes.\n")
    assert document.title == "Cache TTL"
    (chunk,) = document.chunks
    assert chunk.text == chunk.embed_text == "# Cache TTL\n\nThe cache keeps entries for ten minutes."
    assert chunk.lines == (1, 3)
    assert chunk.heading == ("Cache TTL",)


def test_sections_carry_their_heading_path_and_lines() -> None:
    text = (
        "# Handbook\n\n"
        + long_section("Retries", 6)
        + "### Limits\n\n"
        + PROSE * 3
        + "\n\n"
        + long_section("Queues", 6)
    )
    document = read(text)
    found = [(chunk.heading, text.split("\n")[chunk.lines[0] - 1]) for chunk in document.chunks]
    assert (("Handbook", "Retries", "Limits"), "### Limits") in found
    assert (("Handbook", "Queues"), "## Queues") in found
    assert not uncovered(document)


def test_a_chunk_is_embedded_with_the_headings_that_its_text_does_not_say() -> None:
    document = read("# Handbook\n\nIntro.\n\n" + long_section("Retries"))
    later = next(chunk for chunk in document.chunks if not chunk.text.startswith("#"))
    assert later.embed_text == f"Handbook › Retries\n{later.text}"
    first = next(chunk for chunk in document.chunks if chunk.text.startswith("## Retries"))
    assert first.embed_text == f"Handbook\n{first.text}"


def test_a_large_section_stays_alone_and_small_siblings_come_together() -> None:
    small = "".join(f"## Tip {number}\n\nUse less.\n\n" for number in range(3))
    document = read("# Tips\n\n" + small + long_section("Essay", 5))
    assert [chunk.text.count("## ") for chunk in document.chunks] == [3, 1]
    assert document.chunks[0].heading == ("Tips",)


def test_lessons_of_some_length_are_units_of_their_own() -> None:
    lessons = "".join(f"## Lesson {number}\n\n{PROSE * 4}\n\n" for number in range(6))
    document = read("# Lessons\n\n" + lessons)
    own = [chunk for chunk in document.chunks if "## Lesson" in chunk.text]
    assert [chunk.heading[-1] for chunk in own] == [f"Lesson {number}" for number in range(6)]


def test_sections_of_different_parents_are_not_merged() -> None:
    document = read("# A\n\n## A1\n\nx\n\n" + PROSE * 8 + "\n\n# B\n\ny\n\n## B1\n\nz\n")
    for chunk in document.chunks:
        assert not ("## A1" in chunk.text and "# B" in chunk.text)


def test_a_fence_that_fits_is_never_cut() -> None:
    fence = "```py\n" + "".join(f"value_{n} = call({n})\n\n" for n in range(8)) + "```"
    document = read("# Code\n\n" + PROSE * 12 + "\n\n" + fence + "\n\n" + PROSE * 12 + "\n")
    assert sum(fence in chunk.text for chunk in document.chunks) == 1


def test_a_table_that_fits_is_never_cut_and_a_longer_one_keeps_its_head() -> None:
    head = "| name | owner |\n|------|-------|\n"
    short = head + "| cache | ann |\n" * 3
    document = read("# T\n\n" + PROSE * 11 + "\n\n" + short + "\n" + PROSE * 11 + "\n")
    assert sum(short.rstrip() in chunk.text for chunk in document.chunks) == 1
    rows = [f"| service number {n} | team {n % 7} of the platform group |" for n in range(120)]
    document = read("# T\n\n" + head + "\n".join(rows) + "\n")
    assert len(document.chunks) > 3
    assert all("| name | owner |" in chunk.embed_text for chunk in document.chunks)
    assert all(line in rows for chunk in document.chunks[1:] for line in chunk.text.split("\n"))


def test_a_long_list_is_divided_between_items() -> None:
    items = [f"- item {n}: {PROSE.strip()}\n  and more of item {n} on a second line" for n in range(20)]
    document = read("# L\n\n" + "\n".join(items) + "\n")
    assert len(document.chunks) > 2
    assert all(chunk.text.startswith(("# L", "- item")) for chunk in document.chunks)


def test_a_paragraph_on_one_line_is_divided_at_sentences_and_says_which_line() -> None:
    document = read("# P\n\n" + PROSE * 40 + "\n")
    assert len(document.chunks) > 2
    assert all(chunk.lines[1] == 3 for chunk in document.chunks)
    assert all(chunk.text.rstrip().endswith(".") for chunk in document.chunks)


def test_a_wrapped_paragraph_is_divided_between_lines() -> None:
    lines = [f"{PROSE}Line {number} goes on without an end" for number in range(30)]
    document = read("\n".join(lines) + "\n")
    assert len(document.chunks) > 2
    for chunk in document.chunks:
        assert chunk.text == "\n".join(lines[chunk.lines[0] - 1 : chunk.lines[1]])


def test_what_looks_like_structure_inside_a_fence_is_text() -> None:
    document = read(
        "# One\n\n````md\n---\nsupersedes: other\n---\n# not a heading\n```py\n# nor this\n```\n````\n\n"
        "~~~\n## nor that\n~~~\n\n"
        "    # indented\n\n## Two\n\nText.\n"
    )
    assert {name for chunk in document.chunks for name in chunk.heading} <= {"One", "Two"}
    assert not document.edges
    assert not uncovered(document)


def test_nothing_is_lost_behind_an_open_fence() -> None:
    document = read("# A\n\n```sh\nls\n\n## After\n\nThe end of it.\n")
    assert "The end of it." in document.chunks[-1].text
    (finding,) = document.findings
    assert (finding.code, finding.line) == ("fence-unclosed", 3)


def test_setext_headings_and_long_paragraphs_above_a_rule() -> None:
    document = read("Title\n=====\n\nPart\n----\n\n" + PROSE * 6 + "\n")
    assert document.title == "Title"
    assert document.chunks[-1].heading == ("Title", "Part")
    document = read("# A\n\none\ntwo\nthree\nfour\n---\n\nrest\n")
    assert document.chunks[0].heading == ("A",)


def test_headings_lose_their_markup() -> None:
    document = read("# The `cache` **must** [expire](a.md) #\n\nText.\n")
    assert document.title == "The cache must expire"


def test_the_title_is_the_frontmatter_s_the_first_heading_s_or_the_file_s() -> None:
    assert read("---\ntitle: From above\n---\n# Heading\n").title == "From above"
    assert read("Some text.\n\n# Heading\n").title == "Heading"
    assert read("Just text.\n", "notes/cache-ttl.md").title == "cache-ttl"
    assert read("ADR 7: Split the ledger\n\n## Context\n\nText.\n").title == "ADR 7: Split the ledger"
    assert read("This is a sentence.\n\n## Context\n\nText.\n").title == "Context"


def test_reference_definitions_and_html_are_not_lost() -> None:
    document = read("# A\n\ntext [x][1]\n\n[1]: other.md\n\n<div>\nhello\n</div>\n")
    assert not uncovered(document)


def test_links_to_local_files_are_edges_as_written() -> None:
    document = read(
        "# L\n\nSee [[Cache TTL]], [[notes/queue|the queue]] and [this](../adr/ADR-7.md#why), [web](https://a.b/c.md),\n"
        "[mail](mailto:a@b.c), [here](#there), `[[code]]` and `[c](d.md)`.\n\n```\n[[fenced]] [f](g.md)\n```\n\n"
        "- [item](x%20y.md)\n\n  ```\n  [[in a list]]\n  ```\n\n[ref]: other/file.txt\n"
    )
    assert [(edge.target, edge.line) for edge in links(document)] == [
        ("Cache TTL", 3),
        ("notes/queue", 3),
        ("../adr/ADR-7.md#why", 3),
        ("x%20y.md", 10),
        ("other/file.txt", 16),
    ]


def test_crlf_and_lf_give_the_same_chunks() -> None:
    text = "---\ntitle: T\n---\n\n# A\n\nOne.\nTwo.\n\n" + long_section("B")
    assert read(text).chunks == read(text.replace("\n", "\r\n")).chunks


def test_no_chunk_of_nothing() -> None:
    for content in (b"", b"  \n\t\n \n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n\n"):
        document = read(content)
        assert document.chunks == ()
        assert codes(document) == []


def test_a_last_line_without_an_end_is_indexed() -> None:
    assert read("# A\n\nlast line").chunks[-1].text.endswith("last line")


def test_chunks_are_of_about_the_size_asked_for() -> None:
    document = read("# A\n\n" + "".join(long_section(f"S{n}", 30) for n in range(4)), policy=ChunkPolicy(tokens=120))
    counts = word_pieces([chunk.embed_text for chunk in document.chunks])
    assert max(counts) <= 120
    assert sum(counts) / len(counts) > 80


def test_a_heading_without_end_is_cut_as_a_title_and_whole_as_text() -> None:
    long = "word " * 2_000
    document = read(f"# {long}\n\n## {long}\n\ntext\n")
    assert len(document.title) <= 200
    assert all(len(name) <= 200 for chunk in document.chunks for name in chunk.heading)
    assert not uncovered(document)
