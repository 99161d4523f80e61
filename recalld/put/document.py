"""A put document as a file: its frontmatter says where it is from, and its digest tells whether a person edited it.

Pure.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from recalld.ingest import frontmatter
from recalld.ingest.decode import decode
from recalld.ingest.outline import Lines
from recalld.ingest.parse import is_put
from recalld.ingest.report import Reporter
from recalld.ingest.written import entry, moment_of, one_line, prose, stamp


@dataclass(frozen=True, slots=True)
class PutDocument:
    """What a put document's file says.

    ``source_hash`` and ``source_bytes`` are of what was put, before it was converted; ``pages`` is 0 where there are
    none. ``untouched`` tells that the file is as recalld wrote it.
    """

    title: str
    source: str
    media_type: str
    fetched_at: datetime | None
    source_hash: str
    source_bytes: int
    pages: int
    put_by: str
    text: str
    untouched: bool = False

    def says_as(self, other: PutDocument) -> bool:
        """Tell whether two are the same document, whenever and by whom they were put."""
        mine, theirs = ((one.title, one.source, one.media_type, one.pages, one.text.rstrip()) for one in (self, other))
        return mine == theirs


def put_document(
    *, title: str, source: str, media_type: str, at: datetime, content: bytes, pages: int, agent: str, text: str
) -> PutDocument:
    """Return a document as it is stored; ``content`` is what was put, ``text`` what was read from it."""
    return PutDocument(
        title=one_line(title)[:500],
        source=one_line(source),
        media_type=media_type,
        fetched_at=at.astimezone(UTC).replace(microsecond=0),
        source_hash=hashlib.sha256(content).hexdigest(),
        source_bytes=len(content),
        pages=pages,
        put_by=agent,
        text=prose(text),
        untouched=True,
    )


def render(document: PutDocument) -> bytes:
    """Return the file of a document; :func:`read_put` gives it back."""
    head = "".join(f"{entry(key, value)}\n" for key, value in _front(document))
    body = f"---\n\n{document.text}\n".encode("utf-8", "replace")
    signed = f"---\n{head}".encode()
    digest = entry("digest", hashlib.sha256(signed + body).hexdigest())
    return signed + f"{digest}\n".encode() + body


def read_put(path: str, content: bytes) -> PutDocument | None:
    """Read a file as a put document; None for any other file."""
    lines = Lines(decode(content, Reporter(path)))
    front = frontmatter.read(lines, Reporter(path))
    if not is_put(front):
        return None
    said = front.values
    document = PutDocument(
        title=_text(said.get("title")),
        source=_text(said.get("source")),
        media_type=_text(said.get("media_type")),
        fetched_at=moment_of(said.get("fetched_at")),
        source_hash=_text(said.get("source_hash")),
        source_bytes=_number(said.get("source_bytes")),
        pages=_number(said.get("pages")),
        put_by=_text(said.get("put_by")),
        text="\n".join(lines.all[front.last :]).strip("\n"),
    )
    return replace(document, untouched=content.replace(b"\r\n", b"\n") == render(document))


def _front(document: PutDocument) -> list[tuple[str, str | int]]:
    front: list[tuple[str, str | int | None]] = [
        ("title", document.title),
        ("kind", "document"),
        ("source", document.source),
        ("media_type", document.media_type),
        ("fetched_at", stamp(document.fetched_at) if document.fetched_at else None),
        ("source_hash", document.source_hash),
        ("source_bytes", document.source_bytes),
        ("pages", document.pages or None),
        ("put_by", document.put_by),
    ]
    return [(key, value) for key, value in front if value not in ("", None)]


def _text(value: object) -> str:
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
