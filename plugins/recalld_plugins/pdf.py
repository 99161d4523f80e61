"""PDF to markdown with pypdf: a heading a page, so that what is found can be cited by its page."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from pypdf import PdfReader
from pypdf.errors import DependencyError, LimitReachedError, PyPdfError

from recalld.errors import BrokenDocumentError, EncryptedError, NoTextError, TooLargeError
from recalld.put.converted import Converted, Job

_STRUCTURE = re.compile(r"^(\s{0,3})([#>|+*~`=-]|\d{1,9}[.)](?=\s|$))", re.MULTILINE)
_HYPHEN = re.compile(r"(?<=[a-z\u00df-\u00ff])-\n(?=[a-z\u00df-\u00ff])")
_INDENT = re.compile(r"^[ \t]{4,}", re.MULTILINE)


END, END_WITHIN = b"%%EOF", 65_536
"""How a PDF ends, and in how many of its last bytes that must stand: mail programs and servers append to files."""
_DAMAGED = "the PDF is not in order: parts of its text may be missing"


def convert(content: bytes, job: Job) -> Converted:
    """Return the text of a PDF. Raises EncryptedError, BrokenDocumentError, NoTextError, TooLargeError."""
    try:
        return _converted(content, job)
    except LimitReachedError as error:
        raise TooLargeError(
            f"a part of the PDF is too large unpacked ({error})", suggestion="it may be made to do harm"
        ) from error
    except PyPdfError as error:
        raise BrokenDocumentError(
            f"the PDF is damaged or cut off ({error})", suggestion="open it, and see whether it is whole"
        ) from error


def _converted(content: bytes, job: Job) -> Converted:
    if END not in content[-END_WITHIN:]:
        raise BrokenDocumentError("the PDF is cut off: its end is missing", suggestion="fetch it, or copy it, anew")
    complaints = _Complaints()
    with complaints.heard():
        found = _read(content, job)
    return replace(found, notes=(*found.notes, _DAMAGED)) if complaints.any else found


def _read(content: bytes, job: Job) -> Converted:
    reader = PdfReader(io.BytesIO(content))
    _open(reader)
    pages = len(reader.pages)
    if pages > job.max_pages:
        raise TooLargeError(f"the PDF has {pages} pages, {job.max_pages} are allowed", suggestion="see put.max_pages")
    texts, size = [], 0
    for page in reader.pages:
        text = _plain(page.extract_text())
        size += len(text.encode("utf-8", "replace"))
        if size > job.max_text_bytes:
            raise TooLargeError("the PDF has too much text", suggestion="see put.max_text_bytes")
        texts.append(text)
    silent = sum(1 for text in texts if not text)
    if silent == pages:
        raise NoTextError("the PDF has no text: its pages are pictures", suggestion="recognise its text (OCR) first")
    notes = (f"{silent} of {pages} pages have no text",) if silent else ()
    body = "\n\n".join(f"## Page {number}\n\n{text}" for number, text in enumerate(texts, 1) if text)
    title = reader.metadata.title if reader.metadata else None
    return Converted(title or "", body, pages, notes)


def _open(reader: PdfReader) -> None:
    """Open a PDF that everybody may read and only some may print."""
    if not reader.is_encrypted:
        return
    try:
        opened = reader.decrypt("")
    except DependencyError as error:
        raise EncryptedError(f"the PDF is encrypted ({error})", suggestion="save it without a password") from error
    if not opened:
        raise EncryptedError("the PDF needs a password", suggestion="save it without one, and put that in")


def _plain(text: str) -> str:
    """Return a page's lines so that markdown reads none of them as structure; words cut at a line's end are whole."""
    whole = _INDENT.sub("   ", _HYPHEN.sub("", text.strip()))
    return _STRUCTURE.sub(r"\1\\\2", whole) if whole else ""


class _Complaints(logging.Handler):
    """Hears what pypdf says of a PDF that it repairs, and of objects that it cannot read."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.any = False

    def emit(self, record: logging.LogRecord) -> None:
        """Note that there was something."""
        self.any = True

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Listen while the block lasts."""
        logger = logging.getLogger("pypdf")
        logger.addHandler(self)
        try:
            yield
        finally:
            logger.removeHandler(self)
