"""HTML to markdown with trafilatura: the main text of a page, without menus and adverts."""

from __future__ import annotations

import codecs
import re
from contextlib import suppress
from copy import deepcopy

import trafilatura
from lxml import etree
from lxml.html import HtmlElement, HTMLParser, document_fromstring
from trafilatura.settings import use_config

from recalld.errors import NoTextError
from recalld.ingest.decode import decode
from recalld.ingest.report import Reporter
from recalld.put.converted import Converted, Job

LEAST_CHARACTERS = "50"
"""A page's main text may be so short; trafilatura's own bound of 250 makes it take all of a short page, menus too."""
_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
_CHARSET_WITHIN = 4_096


def convert(content: bytes, job: Job) -> Converted:
    """Return the main text of a page; all of its text where none is the main one. Raises NoTextError."""
    page = _tree(_decoded(content, job))
    config = use_config()
    config.set("DEFAULT", "MIN_EXTRACTED_SIZE", LEAST_CHARACTERS)
    config.set("DEFAULT", "MIN_OUTPUT_SIZE", "1")
    text = trafilatura.extract(
        deepcopy(page),
        url=job.url or None,
        output_format="markdown",
        favor_recall=True,
        include_comments=False,
        include_tables=True,
        include_links=True,
        include_formatting=True,
        config=config,
    )
    notes: tuple[str, ...] = ()
    if not text:
        text, notes = trafilatura.html2txt(deepcopy(page)).strip(), (_ALL,)
    if not text:
        raise NoTextError("the page has no text: it may be made by a script", suggestion="save it as PDF or text")
    return Converted(_title(page), text, notes=notes)


_ALL = "no main text was found on the page: all of it was taken"


def _title(page: HtmlElement) -> str:
    """Return what the page calls itself: its title, else its first heading."""
    for path in ("//head/title", "//title", "//h1"):
        for element in page.xpath(path):
            if text := " ".join(element.text_content().split()):
                return str(text)
    return ""


def _tree(text: str) -> HtmlElement:
    """Parse a page. Raises NoTextError for an empty one, MemoryError."""
    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        return document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except etree.ParserError as error:
        raise NoTextError("the page is empty") from error


def _decoded(content: bytes, job: Job) -> str:
    """Return a page in the charset that the server names, else in its own, else in the one that it looks like."""
    said = _CHARSET.search(content[:_CHARSET_WITHIN])
    for charset in (job.charset, said[1].decode("ascii", "replace") if said else ""):
        with suppress(LookupError, UnicodeError):
            codecs.lookup(charset)
            return content.decode(charset, "replace")
    return decode(content, Reporter(job.name))
