"""``put``, ``put.part``, ``documents`` and ``documents.remove``: documents from elsewhere, as files of a repo."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from recalld.bus.wire.base import Reply, Request

PART_BYTES = 45_000
"""What fits into one request, written in base64, at the default of ``bus.max_request_bytes``."""
MOST_PARTS = 1_500

Source = Annotated[str, Field(min_length=1, max_length=2_048)]
Part = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Name = Annotated[str, Field(max_length=200)]
_BYTES = ConfigDict(extra="forbid", frozen=True, ser_json_bytes="base64", val_json_bytes="base64")


class PutPartRequest(Request):
    """Hand over a part of a document's bytes, in base64 (of the URL-safe alphabet), before it is put."""

    model_config = _BYTES
    content: Annotated[bytes, Field(min_length=1, max_length=PART_BYTES)]


class PutPartReply(Reply):
    """The part is kept for a day; ``put`` takes it, by this name."""

    part: str


class PutRequest(Request):
    """Put a document in, as a file of a repo; ``source`` is fetched where it is a URL.

    Bytes come as ``content``, in base64, or in ``parts`` that were handed over before; then ``source`` says where they
    are from, and begins with ``file:`` or ``stdin:``. The same source again updates the same file. ``name`` is what the
    file is called (default: by its source), ``replace`` also replaces one that a person has edited since.
    """

    model_config = _BYTES
    source: Source
    content: Annotated[bytes, Field(max_length=PART_BYTES)] | None = None
    parts: Annotated[tuple[Part, ...], Field(max_length=MOST_PARTS)] = ()
    media_type: Name = ""
    repo: str | None = None
    title: Annotated[str, Field(max_length=500)] = ""
    name: Name = ""
    replace: bool = False


class PutReply(Reply):
    """The document stands. A search with ``min_seq`` = ``seq`` sees it; ``content_hash`` is that of its file.

    ``notes`` say what a reader should know, as pages without text.
    """

    repo: str
    path: str
    title: str
    source: str
    action: Literal["created", "updated", "unchanged"]
    media_type: str
    source_bytes: int
    source_hash: str
    text_bytes: int
    content_hash: str
    pages: int = 0
    seq: int = 0
    fetch_ms: float = 0.0
    convert_ms: float = 0.0
    notes: tuple[str, ...] = ()


class DocumentsRequest(Request):
    """List documents that were put in, by repo and path; ``after`` is the ``next`` of an earlier reply."""

    repo: str | None = None
    after: str = ""
    limit: Annotated[int, Field(ge=1, le=200)] = 100


class DocumentView(Reply):
    """A document that was put in, as the index has it.

    ``state`` is ``ok`` (as recalld wrote it), ``edited`` (by a person, since), or what became of its newest file:
    ``failed``, ``skipped``.
    """

    repo: str
    path: str
    title: str
    source: str
    media_type: str
    fetched_at: datetime | None
    source_hash: str
    source_bytes: int
    pages: int
    put_by: str
    state: str


class DocumentsReply(Reply):
    """One page of them; ``next`` is where the next one begins, empty at the end."""

    documents: tuple[DocumentView, ...]
    next: str = ""


class DocumentsRemoveRequest(Request):
    """Remove a put document's file, given by its path, ``repo:path`` or its source.

    One that a person has edited since stays, unless ``edited`` ones may go.
    """

    ref: Annotated[str, Field(min_length=1, max_length=4_096)]
    repo: str | None = None
    edited: bool = False


class DocumentsRemoveReply(Reply):
    """The file is gone. A search with ``min_seq`` = ``seq`` does not see it any more."""

    repo: str
    path: str
    source: str
    seq: int = 0
