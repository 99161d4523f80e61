"""Documents become text in a process of its own: what they say, and how hostile ones end."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from typing import Any

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalld.errors import (
    BrokenDocumentError,
    ConfigError,
    DeadlineError,
    EncryptedError,
    NoTextError,
    RecalldError,
    TooLargeError,
)
from recalld.put import sandbox
from recalld.put.conversion import convert
from recalld.put.converted import Converted, Job
from recalld.put.media import Media
from recalld.put.plugins import CONVERTERS, plugin
from recalld.settings import PutSettings
from tests.support.directories import short_directory
from tests.support.pdfs import encrypted, pdf, stream_bomb

MANUAL = pdf(["The crane at berth 4\ncarries nine tons.", "", "# Never lift\n- in a storm"], "Crane (manual)")


async def read(media: Media, content: bytes, charset: str = "", **limits: Any) -> Converted:
    allowed = PutSettings(**limits)
    job = Job("the document", "https://example.org/a/", charset, allowed.max_pages, allowed.max_text_bytes)
    return await convert(media, content, job, allowed)


async def test_a_pdf_has_its_title_its_pages_and_its_text() -> None:
    found = await read(Media.PDF, MANUAL)
    assert (found.title, found.pages, found.notes) == ("Crane (manual)", 3, ("1 of 3 pages have no text",))
    assert found.text == (
        "## Page 1\n\nThe crane at berth 4\ncarries nine tons.\n\n## Page 3\n\n\\# Never lift\n\\- in a storm"
    )


async def test_a_pdf_that_everybody_may_read_is_read_and_a_locked_one_is_not() -> None:
    assert (await read(Media.PDF, encrypted(MANUAL, ""))).text == (await read(Media.PDF, MANUAL)).text
    with pytest.raises(EncryptedError, match="password"):
        await read(Media.PDF, encrypted(MANUAL, "secret"))


@pytest.mark.parametrize(
    ("content", "limits", "error", "says"),
    [
        (pdf(["", ""]), {}, NoTextError, "pictures"),
        (pdf(["page"] * 12), {"max_pages": 10}, TooLargeError, "12 pages, 10 are allowed"),
        (pdf(["word " * 60] * 9), {"max_text_bytes": 1_024}, TooLargeError, "too much text"),
        (b"%PDF-1.7\nnothing of the sort\n%%EOF", {}, BrokenDocumentError, "damaged or cut off"),
        (MANUAL[:-9], {}, BrokenDocumentError, "its end is missing"),
        (MANUAL[: len(MANUAL) // 2], {}, BrokenDocumentError, "its end is missing"),
    ],
    ids=["scanned", "pages", "text", "broken", "cut off", "cut in half"],
)
async def test_what_is_wrong_with_a_pdf_is_named(
    content: bytes, limits: dict[str, Any], error: type[RecalldError], says: str
) -> None:
    with pytest.raises(error, match=says):
        await read(Media.PDF, content, **limits)


async def test_a_pdf_that_had_to_be_repaired_says_so() -> None:
    repaired = await read(Media.PDF, MANUAL.replace(b"startxref\n", b"startxref\n9"))
    assert "nine tons" in repaired.text
    assert "the PDF is not in order: parts of its text may be missing" in repaired.notes


async def test_a_stream_that_bursts_ends_in_an_error_and_within_the_limits() -> None:
    begun = time.monotonic()
    with pytest.raises((TooLargeError, BrokenDocumentError, DeadlineError)):
        await read(Media.PDF, stream_bomb(), max_memory_bytes=268_435_456, max_seconds=20)
    assert time.monotonic() - begun < 25


async def test_time_is_limited() -> None:
    slow = pdf(["a line of text\n" * 50] * 900)
    with pytest.raises(DeadlineError, match="longer than 1 s"):
        await read(Media.PDF, slow, max_seconds=1)
    assert not [child for child in psutil.Process().children() if "recalld.put.sandbox" in child.cmdline()]


@pytest.mark.skipif(sys.platform == "darwin", reason="no limit of the address space there")
async def test_memory_is_limited() -> None:
    with pytest.raises((TooLargeError, BrokenDocumentError)):
        await read(Media.HTML, b"<p>x" * 5_000_000, max_memory_bytes=268_435_456)


PAGE = b"""<!doctype html><html><head><meta charset="iso-8859-1"><title>Caf\xe9 on the pier</title></head><body>
<nav><a href="/">Home</a> <a href="/all">All pages</a></nav><main><h1>Caf\xe9 on the pier</h1>
<p>The caf\xe9 opens at nine. It is closed on Mondays, see <a href="/rules">the rules</a> of the pier.</p>
<table><tr><th>Day</th><th>Hour</th></tr><tr><td>Sunday</td><td>ten</td></tr></table></main>
<script>alert("never")</script></body></html>"""


async def test_a_page_is_its_main_text_with_its_title_tables_and_whole_links() -> None:
    found = await read(Media.HTML, PAGE)
    assert found.title == "Caf\u00e9 on the pier"
    assert "opens at nine" in found.text and "[the rules](https://example.org/rules)" in found.text
    assert "| Sunday | ten |" in found.text
    assert "never" not in found.text and "All pages" not in found.text


async def test_what_the_server_says_of_the_charset_counts_and_nonsense_does_not() -> None:
    utf8 = PAGE.decode("latin-1").encode("utf-8")
    assert "caf\u00e9 opens" in (await read(Media.HTML, utf8, "utf-8")).text
    for charset in ("no-such-charset", "base64", "undefined", ""):
        assert "caf\u00e9 opens" in (await read(Media.HTML, PAGE, charset)).text


async def test_a_page_without_text_and_one_without_a_main_text() -> None:
    with pytest.raises(NoTextError, match="script"):
        await read(Media.HTML, b"<html><body><script>app()</script></body></html>")
    assert (await read(Media.HTML, b"<p>Closed.</p>")).text == "Closed."


async def test_plain_text_keeps_its_letters_and_markdown_its_frontmatter_as_text() -> None:
    assert (await read(Media.TEXT, "caf\u00e9".encode("cp1252"))).text == "caf\u00e9"
    assert (await read(Media.TEXT, b"caf\xe9", "latin-1")).text == "caf\u00e9"
    memo = await read(Media.MARKDOWN, b"---\ntitle: Tea\nsupersedes: adr-1\n---\n\n# Tea time\n\nAt five.\n")
    assert memo.title == "Tea"
    assert memo.text == "```yaml\n---\ntitle: Tea\nsupersedes: adr-1\n---\n```\n\n# Tea time\n\nAt five."
    assert (await read(Media.MARKDOWN, b"# Tea time\n\nAt five.\n")).title == "Tea time"
    with pytest.raises(NoTextError):
        await read(Media.TEXT, b"\xef\xbb\xbf  \n")


def test_a_plugin_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="there is no plugin docx"):
        plugin(CONVERTERS, "docx")
    monkeypatch.delitem(sys.modules, "recalld_plugins.pdf", raising=False)
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(ConfigError, match="pypdf") as caught:
        plugin(CONVERTERS, "pdf")
    assert "recalld[pdf]" in caught.value.suggestion
    answer = sandbox.convert({"converter": "pdf", "job": asdict(Job("x"))}, io.BytesIO(MANUAL))
    assert answer["error"]["code"] == ConfigError.code and ConfigError.code in sandbox.KINDS


@pytest.mark.skipif(sys.platform == "darwin", reason="no limit of the address space there")
def test_the_process_that_converts_cannot_write_or_take_more_than_its_share() -> None:
    """What a converter that was taken over could do: the limits hold for it, too."""
    program = """
import sys
from recalld.put.sandbox import restrict
restrict(300_000_000, 1)
tried = {"memory": lambda: bytearray(400_000_000), "write": lambda: open(sys.argv[1], "wb", buffering=0).write(b"x")}
for name, attempt in tried.items():
    try:
        attempt()
        print(name, "done")
    except (MemoryError, OSError) as error:
        print(name, type(error).__name__)
sys.stdout.flush()
while True:
    pass
"""
    with short_directory() as directory:
        ended = subprocess.run(
            [sys.executable, "-c", f"import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n{program}",
             str(directory / "written")],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (directory / "written").stat().st_size == 0
    assert ended.stdout.split("\n")[:2] == ["memory MemoryError", "write OSError"]
    assert ended.returncode == -signal.SIGXCPU


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_a_pdf_with_damage_anywhere_is_text_or_a_named_error(data: st.DataObject) -> None:
    content = bytearray(MANUAL[: data.draw(st.integers(10, len(MANUAL)))])
    for _ in range(data.draw(st.integers(0, 8))):
        content[data.draw(st.integers(9, len(content) - 1))] = data.draw(st.integers(0, 255))
    assert named("pdf", bytes(content))


@settings(deadline=None, max_examples=60)
@given(st.binary() | st.text().map(lambda text: f"<html><meta charset={text!r}><p>{text}".encode()))
def test_any_bytes_as_a_page_are_text_or_a_named_error(content: bytes) -> None:
    assert named("html", content)


def named(converter: str, content: bytes) -> bool:
    """Tell whether what a sandbox answers is text, or an error that the parent knows."""
    answer = sandbox.convert({"converter": converter, "job": asdict(Job("x"))}, io.BytesIO(content))
    return bool(answer["text"].strip()) if "text" in answer else answer["error"]["code"] in sandbox.KINDS
