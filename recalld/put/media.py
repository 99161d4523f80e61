"""What kind of document some bytes are. What they are counts more than what they are said to be. Pure."""

from __future__ import annotations

from enum import StrEnum
from pathlib import PurePosixPath

from recalld.errors import BrokenDocumentError, NoTextError, UnsupportedTypeError
from recalld.ingest.content import is_binary

PDF_MARK = b"%PDF-"
PDF_MARK_WITHIN = 1_024
"""Bytes that may stand before a PDF's mark."""


class Media(StrEnum):
    """The kinds of documents that can be put in."""

    TEXT = "text/plain"
    MARKDOWN = "text/markdown"
    HTML = "text/html"
    PDF = "application/pdf"

    @property
    def suffix(self) -> str:
        """The suffix of the file that such a document becomes."""
        return ".txt" if self is Media.TEXT else ".md"


_GENERIC = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/x-download"})
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_MARKDOWN = frozenset({"text/markdown", "text/x-markdown"})
_PDF = frozenset({"application/pdf", "application/x-pdf"})
_TEXTUAL = ("json", "xml", "yaml", "toml", "javascript", "csv")
_BY_SUFFIX = {
    **dict.fromkeys((".html", ".htm", ".xhtml"), Media.HTML),
    **dict.fromkeys((".md", ".markdown"), Media.MARKDOWN),
    ".pdf": Media.PDF,
}


def media_of(content: bytes, declared: str, name: str) -> Media:
    """Return what bytes are, which a server may ``declare`` and a ``name`` may tell.

    Raises NoTextError for nothing, BrokenDocumentError for a PDF that is none, UnsupportedTypeError for the rest.
    """
    if not content.strip():
        raise NoTextError(f"{name} is empty")
    said = declared.casefold().strip()
    named = _BY_SUFFIX.get(PurePosixPath(name.casefold()).suffix)
    is_said_pdf = said in _PDF or (said in _GENERIC and named is Media.PDF)
    if content.startswith(PDF_MARK) or (is_said_pdf and PDF_MARK in content[:PDF_MARK_WITHIN]):
        return Media.PDF
    if is_said_pdf:
        raise BrokenDocumentError(f"{name} is said to be a PDF, and is none", suggestion="open it, and see what it is")
    if is_binary(content):
        kind = said if said not in _GENERIC else "binary"
        raise UnsupportedTypeError(f"{name} is {kind}, and no text", suggestion=_KNOWN)
    return _text(content, said, named, name)


_KNOWN = "text, markdown, HTML and PDF can be put in"


def _text(content: bytes, said: str, named: Media | None, name: str) -> Media:
    if said in _HTML:
        return Media.HTML
    if said in _MARKDOWN or (named is Media.MARKDOWN and (said in _GENERIC or said == Media.TEXT)):
        return Media.MARKDOWN
    if said in _GENERIC:
        return Media.HTML if named is Media.HTML or _looks_like_html(content) else Media.TEXT
    if said.startswith("text/") or said.endswith(_TEXTUAL):
        return Media.TEXT
    raise UnsupportedTypeError(f"{name} is said to be {said}", suggestion=_KNOWN)


def _looks_like_html(content: bytes) -> bool:
    beginning = content[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return beginning.startswith((b"<!doctype html", b"<html"))
