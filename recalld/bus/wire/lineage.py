"""``lineage``: what replaced what around a document, and from when to when each of them holds."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from recalld.bus.wire.base import Reply, Request
from recalld.bus.wire.memos import Ref


class LineageRequest(Request):
    """Ask about one document, given by path, ``repo:path`` or a hit's id, at a moment (default: now)."""

    ref: Ref
    repo: str | None = None
    as_of: datetime | None = Field(None, description="the moment of the verdicts (default: now)")


class KinView(Reply):
    """A document that has to do with the one asked about.

    ``verdict`` is its standing at the moment asked for: ``stands``, or why it must not be believed, which ``reason``
    says in words. The window is that of the document itself, both ends inclusive.
    """

    path: str
    title: str
    status: str
    verdict: str
    reason: str
    valid_from: datetime | None
    valid_until: datetime | None
    known_since: datetime | None


class ReplacedView(Reply):
    """``old`` was replaced by ``new``, as the file ``by`` says; ``new`` is None where nothing has that ``name``."""

    old: str
    new: str | None
    name: str
    by: str
    line: int | None
    said_since: datetime | None


class LineageReply(Reply):
    """The documents that claims connect with the one asked about, that one among them, and the claims, by path."""

    repo: str
    path: str
    kin: tuple[KinView, ...]
    replaced: tuple[ReplacedView, ...]
