"""What can be said of a file's bytes and name before reading it."""

from __future__ import annotations

import hashlib

SAMPLE_BYTES = 8192
"""How much of a file is looked at to tell text from binary."""

_MAGIC = (
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"%PDF-",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"\x7fELF",
    b"SQLite format 3\x00",
    b"BZh",
    b"\xfd7zXZ",
    b"\x28\xb5\x2f\xfd",
    b"7z\xbc\xaf",
    b"RIFF",
    b"OggS",
    b"\xca\xfe\xba\xbe",
    b"\x00asm",
)
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\b\x1b\x00")) + b"\x7f"


def content_hash(content: bytes) -> str:
    """Return the sha256 of a file's bytes, in hex."""
    return hashlib.sha256(content).hexdigest()


def is_binary(content: bytes) -> bool:
    """Tell whether bytes are no text in any encoding that recalld reads. A stray NUL in a text is not enough."""
    sample = content[:SAMPLE_BYTES]
    if not sample or sample.startswith(_BOMS):
        return False
    if sample.startswith(_MAGIC):
        return True
    nuls = sample.count(0)
    if nuls and utf16_without_bom(sample) is None and (nuls * 100 > len(sample) + 400 or not _is_utf8(sample)):
        return True
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    return controls * 20 > len(sample)


def utf16_without_bom(sample: bytes) -> str | None:
    """Return the codec of UTF-16 text that came without its mark, seen by where its NULs stand."""
    half = len(sample) // 2
    if half < 2:
        return None
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if odd * 10 >= half * 6 and even * 20 <= half:
        return "utf-16-le"
    if even * 10 >= half * 6 and odd * 20 <= half:
        return "utf-16-be"
    return None


def _is_utf8(sample: bytes) -> bool:
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.end >= len(sample) and len(sample) == SAMPLE_BYTES
    return True
