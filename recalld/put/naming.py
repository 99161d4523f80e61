"""The names of put documents: by their source alone, so that the same source finds its file again. Pure."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import unquote, urlsplit

FOLDER = "documents"
LONGEST = 80
"""Characters of a name, without its number and suffix."""
LONGEST_BYTES = 200
"""File systems take 255 bytes."""
_NO_WORD = re.compile(r"[\W_]+")
_SUFFIX = re.compile(r"\.(?:md|markdown|txt|text|html?|xhtml|pdf)$", re.IGNORECASE)
_RESERVED = frozenset(
    "con prn aux nul agents claude gemini copilot skill readme memory index".split()  # noqa: SIM905
) | {f"{device}{number}" for device in ("com", "lpt") for number in range(10)}
"""Names that a system keeps for devices, or under which agents look for instructions."""


def stem_of(source: str, name: str = "") -> str:
    """Return the name that a source gives, or the one that was asked for, made safe: letters, digits and ``-``."""
    stem = _slug(_SUFFIX.sub("", name) if name else _telling(source)) or "document"
    return f"{stem}-document" if stem in _RESERVED else stem


def place(stem: str, suffix: str, number: int = 1) -> str:
    """Return the path of a document; ``number`` tells documents apart whose sources give the same name."""
    return f"{FOLDER}/{stem}{f'-{number}' if number > 1 else ''}{suffix}"


def title_from(source: str) -> str:
    """Return what a document is called that has no title: its file's name, the end of its URL, what stdin was named."""
    scheme, _, rest = source.partition(":")
    path = rest.partition("?")[0] if scheme in ("http", "https") else rest
    return unquote(path).rstrip("/").rpartition("/")[2] or source


def _telling(source: str) -> str:
    """Return the part of a source that a person would name it by."""
    scheme, _, rest = source.partition(":")
    if scheme == "file":
        return _SUFFIX.sub("", unquote(rest).rstrip("/").rpartition("/")[2])
    if scheme in ("http", "https"):
        try:
            parts = urlsplit(source)
        except ValueError:
            return rest
        path = _SUFFIX.sub("", unquote(parts.path).rstrip("/"))
        return f"{(parts.hostname or '').removeprefix('www.')} {path} {unquote(parts.query)}"
    return rest or scheme


def _slug(text: str) -> str:
    composed = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    words = _NO_WORD.sub("-", composed.encode("utf-8", "ignore").decode()).strip("-")[:LONGEST]
    return words.encode()[:LONGEST_BYTES].decode("utf-8", "ignore").rstrip("-")
