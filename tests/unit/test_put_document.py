"""A put document's file: nothing in it gets out of its place, and any edit shows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.errors import BrokenDocumentError, NoTextError, UnsupportedTypeError
from recalld.ingest.parse import read
from recalld.put.document import PutDocument, put_document, read_put, render
from recalld.put.media import Media, media_of

AT = datetime(2026, 12, 3, 10, 30, 15, 123, tzinfo=UTC)
LINES = ["---", "...", "title: x", "supersedes: a", "# A", "\x00", "\r", "\u2028"]
TEXTS = st.text() | st.lists(st.sampled_from(LINES)).map("\n".join)


def document(**fields: Any) -> PutDocument:
    given = {
        "title": "Tides", "source": "https://example.org/tides", "media_type": "text/html", "at": AT,
        "content": b"<p>Six.", "pages": 0, "agent": "alice", "text": "High water is at six.",
    }  # fmt: skip
    return put_document(**{**given, **fields})


def test_what_a_file_looks_like() -> None:
    head = (
        "---\n"
        "title: Tides\n"
        "kind: document\n"
        "source: https://example.org/tides\n"
        "media_type: text/html\n"
        "fetched_at: '2026-12-03T10:30:15Z'\n"
        f"source_hash: {sha256(b'<p>Six.').hexdigest()}\n"
        "source_bytes: 7\n"
        "pages: 3\n"
        "put_by: alice\n"
    )
    body = "---\n\nHigh water is at six.\n"
    digest = sha256((head + body).encode()).hexdigest()
    assert render(document(pages=3)).decode() == f"{head}digest: {digest}\n{body}"


@given(TEXTS, TEXTS, TEXTS, st.sampled_from([".md", ".txt"]))
def test_whatever_is_in_it_reads_back_and_declares_nothing(title: str, source: str, text: str, suffix: str) -> None:
    made = document(title=f"t{title}", source=f"s:{source}", text=f"t{text}")
    found = read_put(f"documents/x{suffix}", render(made))
    assert found == made
    parsed = read(f"documents/x{suffix}", render(made)).document
    assert (parsed.title, parsed.kind, parsed.edges) == (made.title, "document", ())
    assert set(parsed.metadata) == {
        "title", "kind", "source", "media_type", "fetched_at", "source_hash", "source_bytes", "put_by", "digest"
    }  # fmt: skip
    assert not [finding for finding in parsed.findings if finding.code.startswith("frontmatter")]


@given(st.data())
def test_any_edit_shows(data: st.DataObject) -> None:
    content = render(document())
    at = data.draw(st.integers(0, len(content) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != content[at]))
    edited = content[:at] + bytes([byte]) + content[at + 1 :]
    found = read_put("documents/x.md", edited)
    assert found is None or not found.untouched


def test_other_line_ends_are_no_edit_and_more_text_is() -> None:
    content = render(document(text="one\n\ntwo"))
    crlf = read_put("documents/x.md", content.replace(b"\n", b"\r\n"))
    assert crlf is not None and crlf.untouched
    longer = read_put("documents/x.md", content + b"\nmine\n")
    assert longer is not None and not longer.untouched


def test_a_persons_file_is_none() -> None:
    for content in (b"# Mine\n", b"---\nsource: x\n---\nmine\n", b"---\nput_by: me\n---\nmine\n", b"", b"\xff\x00"):
        assert read_put("documents/x.md", content) is None


def test_the_same_again_is_the_same_whenever_and_by_whom() -> None:
    later = datetime(2027, 1, 1, tzinfo=UTC)
    assert document().says_as(document(at=later, agent="bob", content=b"<p>Six.</p>"))
    assert not document().says_as(document(text="High water is at seven."))
    assert not document().says_as(replace(document(), title="Ebb"))


@pytest.mark.parametrize(
    ("content", "declared", "name", "media"),
    [
        (b"text", "", "notes.txt", Media.TEXT),
        (b"text", "", "-", Media.TEXT),
        (b"# A", "", "notes.MD", Media.MARKDOWN),
        (b"# A", "text/plain", "https://x/notes.md", Media.MARKDOWN),
        (b"# A", "text/markdown", "https://x/", Media.MARKDOWN),
        (b"<p>", "text/html", "https://x/", Media.HTML),
        (b"<p>", "application/xhtml+xml", "https://x/", Media.HTML),
        (b"<p>", "", "page.htm", Media.HTML),
        (b"\n <!DOCTYPE html><p>", "", "-", Media.HTML),
        (b"<p>", "text/plain", "https://x/page.html", Media.TEXT),
        (b"{}", "application/json", "https://x/", Media.TEXT),
        (b"%PDF-1.7", "text/html", "https://x/", Media.PDF),
        (b"\n\n%PDF-1.7", "application/pdf", "https://x/", Media.PDF),
        (b"%PDF-1.7", "", "-", Media.PDF),
        (b"how %PDF-1.7 begins", "", "notes.txt", Media.TEXT),
        ("text".encode("utf-16"), "", "notes.txt", Media.TEXT),
    ],
)
def test_what_bytes_are(content: bytes, declared: str, name: str, media: Media) -> None:
    assert media_of(content, declared, name) is media


@pytest.mark.parametrize(
    ("content", "declared", "name", "error"),
    [
        (b" \n", "text/plain", "x", NoTextError),
        (b"<p>", "application/pdf", "x", BrokenDocumentError),
        (b"<p>", "", "x.pdf", BrokenDocumentError),
        (b"PK\x03\x04rest", "", "x.docx", UnsupportedTypeError),
        (b"\x89PNG\r\n", "text/html", "x", UnsupportedTypeError),
        (b"words", "image/svg", "x", UnsupportedTypeError),
    ],
)
def test_what_cannot_be_put(content: bytes, declared: str, name: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        media_of(content, declared, name)
