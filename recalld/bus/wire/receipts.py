"""``receipts``: whether an answer that was given still stands, and why not."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from recalld.bus.wire.base import Reply, Request


class ReceiptsRequest(Request):
    """Ask about one of the caller's receipts, or list the newest ``limit`` of them."""

    id: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    limit: Annotated[int, Field(ge=1, le=1_000)] = 20


class CitationView(Reply):
    """A document that an answer relied on.

    ``happened`` is None while it stands, else ``deleted``, ``changed`` or a verdict; ``successor`` is the path of what
    took its place. ``told_at`` is when the event about it was published.
    """

    repo: str
    path: str
    content_hash: str
    happened: str | None = None
    reason: str = ""
    successor: str | None = None
    told_at: datetime | None = None


class ReceiptView(Reply):
    """An answer that was given. ``stands`` is False once anything that it cited no longer does."""

    id: str
    agent: str
    query: str
    at: datetime
    abstained: bool
    as_of: datetime | None
    known_as_of: datetime | None
    stands: bool
    cited: int
    citations: tuple[CitationView, ...] = ()


class ReceiptsReply(Reply):
    """Receipts, newest first; one asked for by id comes with its citations, examined now."""

    receipts: tuple[ReceiptView, ...]
