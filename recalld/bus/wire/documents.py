"""``get``, ``forget`` and ``delta``: single documents, and what changed."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from recalld.bus.wire.base import Reply, Request
from recalld.bus.wire.search import Provenance
from recalld.model import DocumentState, Severity


class GetRequest(Request):
    """Fetch one document by repo-relative path, ``repo:path``, or a hit's id."""

    ref: Annotated[str, Field(min_length=1, max_length=4_096)]
    repo: str | None = None


class ChunkView(Reply):
    """A chunk of a document, without its text (that is in the document)."""

    id: str
    heading: tuple[str, ...]
    lines: tuple[int, int]
    tokens: int


class EdgeView(Reply):
    """A relation as declared in the file."""

    kind: str
    target: str
    source: str
    key: str
    line: int | None


class FindingView(Reply):
    """A fault that names its file."""

    repo: str
    path: str
    code: str
    severity: Severity
    message: str
    hint: str
    line: int | None
    key: str | None
    attempts: int
    first_seen: datetime | None
    last_seen: datetime | None


class GetReply(Reply):
    """A document whole, as it was indexed."""

    id: str
    repo: str
    path: str
    title: str
    kind: str
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    metadata: dict[str, Any]
    text: str
    chunks: tuple[ChunkView, ...]
    edges: tuple[EdgeView, ...]
    findings: tuple[FindingView, ...]
    provenance: Provenance
    modified_at: datetime | None


class ForgetRequest(Request):
    """Drop a document from the index and keep it out while its file stays, until ``undo``."""

    ref: Annotated[str, Field(min_length=1, max_length=4_096)]
    repo: str | None = None
    undo: bool = False


class ForgetReply(Reply):
    """What was forgotten (or will be indexed again)."""

    repo: str
    path: str
    chunks: int
    undone: bool = False


class DeltaRequest(Request):
    """Ask what changed in the index since ``since`` (a cursor of an earlier reply; empty for the beginning)."""

    since: str = ""
    limit: Annotated[int, Field(ge=1, le=10_000)] = 500
    repo: str | None = None


class Change(Reply):
    """One document's newest state."""

    repo: str
    path: str
    state: DocumentState
    content_hash: str
    seq: int
    at: datetime


class DeltaReply(Reply):
    """Changes in commit order; ask again with ``cursor``. ``more`` tells that the limit cut it."""

    changes: tuple[Change, ...]
    cursor: str
    more: bool
