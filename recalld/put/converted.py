"""What goes into a converter and what comes out of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Job:
    """What a converter is told beside the bytes: the URL that they are from and its charset, empty where unknown."""

    name: str
    url: str = ""
    charset: str = ""
    max_pages: int = 1_000
    max_text_bytes: int = 4_194_304


@dataclass(frozen=True, slots=True)
class Converted:
    """A document as text: ``notes`` say what a reader should know of how it was read."""

    title: str
    text: str
    pages: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a URL gave: ``url`` is where the redirects ended, ``media_type`` what the server says, in small letters."""

    url: str
    media_type: str
    charset: str
    content: bytes


Converter = Callable[[bytes, Job], Converted]
"""Blocking. Raises DocumentError, TooLargeError."""
