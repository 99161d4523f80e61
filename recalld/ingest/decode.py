"""From bytes to text: any usual encoding, LF line ends, nothing that a database would refuse."""

from __future__ import annotations

import codecs
import re

from charset_normalizer import from_bytes

from recalld.ingest.content import SAMPLE_BYTES, utf16_without_bom
from recalld.ingest.report import Reporter

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
GUESS_BYTES = 65_536
"""How much of a file is looked at to guess its encoding."""
DAMAGE_SHARE = 0.02
"""Up to this share of bad bytes a text is damaged UTF-8, above it another encoding."""
ENOUGH_BYTES = 32
"""Non-ASCII bytes that it takes to tell Central from Western European."""
_HIGH = bytes(range(128, 256))
_USUAL = ["cp1252", "cp1250", "cp1251", "koi8_r", "iso8859_7", "shift_jis", "euc_jp", "gb18030", "big5", "euc_kr"]
_SURROGATES = re.compile("[\ud800-\udfff]")


def decode(content: bytes, report: Reporter) -> str:
    """Read bytes as text. Never fails: what had to be guessed, replaced or dropped is reported."""
    text = _decoded(content, report)
    if "\x00" in text:
        count = text.count("\x00")
        line = text.count("\n", 0, text.index("\x00")) + 1
        report.warning("nul-bytes", f"{count} NUL bytes were left out", "save the file as plain text", line=line)
        text = text.replace("\x00", "")
    text = _SURROGATES.sub("\ufffd", text)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _decoded(content: bytes, report: Reporter) -> str:
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return _replacing(content[len(mark) :], encoding, report)
    try:
        return _without_marks(content) or content.decode("utf-8")
    except UnicodeDecodeError as error:
        return _other(content, error, report)


def _without_marks(content: bytes) -> str | None:
    """Return UTF-16 text that has no byte order mark (its NULs are valid UTF-8), else None."""
    if b"\x00" not in content[:SAMPLE_BYTES]:
        return None
    codec = utf16_without_bom(content[:SAMPLE_BYTES])
    return content.decode(codec) if codec else None


def _other(content: bytes, error: UnicodeDecodeError, report: Reporter) -> str:
    line = content.count(b"\n", 0, error.start) + 1
    damaged = content.decode("utf-8", "replace")
    bad = damaged.count("\ufffd")
    good = len(damaged.encode("utf-8")) - len(damaged) - 2 * bad
    if bad <= DAMAGE_SHARE * len(damaged) and good > bad:
        report.warning(
            "encoding-damaged",
            f"{bad} bytes are no UTF-8 and read as \ufffd",
            "save the file as UTF-8",
            line=line,
        )
        return damaged
    encoding = _guess(content)
    report.warning(
        "encoding-guessed", f"this is no UTF-8; it was read as {encoding}", "save the file as UTF-8", line=line
    )
    return content.decode(encoding, "replace")


def _guess(content: bytes) -> str:
    """Guess a legacy encoding; Western European where nothing speaks for another."""
    cut = content[:GUESS_BYTES]
    best = from_bytes(cut, cp_isolation=_USUAL).best()
    told = len(cut) - len(cut.translate(None, _HIGH))
    if best is None or (best.encoding == "cp1250" and told < ENOUGH_BYTES):
        return "cp1252"
    return best.encoding


def _replacing(content: bytes, encoding: str, report: Reporter) -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        text = content.decode(encoding, "replace")
        line = text.count("\n", 0, max(text.find("\ufffd"), 0)) + 1
        report.warning(
            "encoding-damaged",
            f"the file says it is {encoding}, but not all of it is",
            "save the file as UTF-8",
            line=line,
        )
        return text
