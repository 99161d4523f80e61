"""``supersede``: what is said of memos from outside their own files."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from recalld.bus.wire.base import Reply, Request

Ref = Annotated[str, Field(min_length=1, max_length=4_096)]


class SupersedeRequest(Request):
    """Record that ``new`` replaced ``old``, both given by path, ``repo:path`` or a hit's id, and ``why``."""

    old: Ref
    new: Ref
    repo: str | None = None
    why: Annotated[str, Field(max_length=4_000)] = ""


class SupersedeReply(Reply):
    """The edge stands. ``record`` is the file that says so, empty where the memory said it ``already``.

    A search with ``min_seq`` = ``seq`` sees it.
    """

    repo: str
    old: str
    new: str
    record: str
    already: bool = False
    seq: int = 0
