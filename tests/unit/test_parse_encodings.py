"""Bytes of any encoding are read or reported; binaries are told from text."""

from __future__ import annotations

import random
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalld.ingest.content import content_hash, is_binary
from tests.support.parsing import codes, read

TEXT = "---\nid: übung\nstatus: accepted\n---\n\n# Übung\n\nWir haben uns für Postgres entschieden.\n"


@pytest.mark.parametrize(
    "content",
    [
        TEXT.encode(),
        b"\xef\xbb\xbf" + TEXT.encode(),
        TEXT.replace("\n", "\r\n").encode(),
        TEXT.replace("\n", "\r").encode(),
        b"\xff\xfe" + TEXT.encode("utf-16-le"),
        b"\xfe\xff" + TEXT.encode("utf-16-be"),
        b"\xff\xfe\x00\x00" + TEXT.encode("utf-32-le"),
        TEXT.encode("utf-16-le"),
        TEXT.encode("utf-16-be"),
    ],
)
def test_unicode_in_all_its_forms(content: bytes) -> None:
    document = read(content)
    assert document.text == TEXT
    assert document.title == "Übung"
    assert dict(document.metadata) == {"id": "übung", "status": "accepted"}
    assert document.findings == ()
    assert not is_binary(content)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Décision: garder le dépôt privé, coût 5 £, José Núñez.\n", "latin-1"),
        ("“Smart quotes” – and a dash… for 5 €.\n", "cp1252"),
        ("Мы решили хранить память агентов в базе данных, потому что файлы теряются.\n" * 3, "cp1251"),
    ],
)
def test_legacy_encodings_are_guessed_and_reported(text: str, encoding: str) -> None:
    document = read(b"# A\n\n" + text.encode(encoding))
    assert document.text == "# A\n\n" + text
    assert [(f.code, f.line) for f in document.findings] == [("encoding-guessed", 3)]


def test_damaged_utf8_is_still_utf8() -> None:
    content = ("# Größe\n\n" + "Für alle Fälle über Nacht.\n" * 20).encode()
    document = read(content[:-30] + b"\xff" + content[-30:])
    assert codes(document) == ["encoding-damaged"]
    assert document.text.count("ü") >= 38


def test_half_a_surrogate_is_replaced() -> None:
    document = read(b"\xff\xfe" + "a\n".encode("utf-16-le") + b"\x00\xd8" + "b".encode("utf-16-le"))
    assert codes(document) == ["encoding-damaged"]
    assert "b" in document.text


def test_nul_bytes_are_left_out_and_reported() -> None:
    document = read(b"# Nul\n\nbefore\x00after\n")
    assert "beforeafter" in document.text
    assert [(f.code, f.line) for f in document.findings] == [("nul-bytes", 3)]
    assert not is_binary(b"# Nul\n\nbefore\x00after\n")


@pytest.mark.parametrize(
    "content",
    [
        b"\x89PNG\r\n\x1a\n" + bytes(100),
        b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj",
        b"\x7fELF\x02\x01\x01" + bytes(50),
        b"PK\x03\x04" + bytes(50),
        b"SQLite format 3\x00" + bytes(100),
        zlib.compress(random.Random(1).randbytes(5_000)),
        random.Random(2).randbytes(10_000),
        bytes(10_000),
        bytes(range(256)) * 40,
    ],
)
def test_binaries(content: bytes) -> None:
    assert is_binary(content)
    read(content)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"text",
        b"\xef\xbb\xbf",
        TEXT.encode("latin-1"),
        "数据库索引\n".encode() * 900,
        b"\x1b[31mred\x1b[0m log\n" * 50,
    ],
)
def test_texts(content: bytes) -> None:
    assert not is_binary(content)


def test_text_cut_inside_a_character_by_the_sample_is_text() -> None:
    assert not is_binary(b"\x00" + b"a" * 8_190 + "ü".encode())


def test_the_hash_is_of_the_bytes() -> None:
    assert content_hash(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@given(
    st.binary(max_size=400), st.sampled_from(["a.md", "a.rst", "a.txt", "a.json", "a.yaml", "a.toml", "a.py", "a.log"])
)
@settings(max_examples=300, deadline=None)
def test_no_bytes_are_fatal(content: bytes, path: str) -> None:
    is_binary(content)
    read(content, path)


@given(st.text(alphabet="---\n:ab[]{}*&!'\"|>#\t -+=", max_size=200), st.sampled_from(["---\n", "+++\n", ""]))
@settings(max_examples=300, deadline=None)
def test_no_frontmatter_is_fatal(text: str, fence: str) -> None:
    read(f"{fence}a: {text}\n{fence}\nBody.\n")


def test_a_file_whose_name_is_no_utf8_and_that_has_no_heading() -> None:
    document = read("Some text.\n", "caf\udce9.md")
    assert document.title == "caf?"
    assert document.path == "caf\udce9.md"
    assert len(document.chunks) == 1
