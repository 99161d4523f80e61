"""The names of put documents: safe whatever the source, and the same for the same source."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.put.naming import place, stem_of, title_from

SOURCES = st.builds(
    lambda scheme, rest: f"{scheme}{rest}", st.sampled_from(["file://h/", "https://h/", "stdin:", ""]), st.text()
)


@given(SOURCES, st.text(), st.integers(1, 100))
def test_a_place_is_always_one_name_in_the_folder(source: str, name: str, number: int) -> None:
    path = place(stem_of(source, name), ".md", number)
    pure = PurePosixPath(path)
    assert pure.parts == ("documents", pure.name)
    assert len(pure.name.encode()) < 255
    assert not pure.name.startswith((".", "-")) and pure.suffix == ".md"
    assert all(char.isalnum() or char == "-" for char in pure.stem)


@given(SOURCES | st.sampled_from(["stdin:CON", "file://h/AGENTS.md", "file://h/claude.md", "stdin:_Nul_", "stdin:."]))
def test_no_name_is_one_that_means_something(source: str) -> None:
    assert stem_of(source) not in {"", "con", "nul", "agents", "claude", "gemini"}


@pytest.mark.parametrize(
    ("source", "name", "stem"),
    [
        ("file://host/home/me/My%20Report%20(final).pdf", "", "my-report-final"),
        ("https://www.example.org/docs/Guide.html?lang=en", "", "example-org-docs-guide-lang-en"),
        ("https://example.org/", "", "example-org"),
        ("stdin:Minutes of May", "", "minutes-of-may"),
        ("stdin:x", "../../etc/passwd", "etc-passwd"),
        ("file://h/AGENTS.md", "", "agents-document"),
        ("file://h/nul.txt", "", "nul-document"),
        ("file://h/...", "", "document"),
        ("file://h/\u6587\u66f8.txt", "", "\u6587\u66f8"),
        ("stdin:x", "notes.md", "notes"),
    ],
)
def test_names(source: str, name: str, stem: str) -> None:
    assert stem_of(source, name) == stem


def test_titles() -> None:
    assert title_from("file://host/a/My%20Report.pdf") == "My Report.pdf"
    assert title_from("https://example.org/docs/guide.html?x=/y") == "guide.html"
    assert title_from("https://example.org/") == "example.org"
    assert title_from("stdin:minutes") == "minutes"
