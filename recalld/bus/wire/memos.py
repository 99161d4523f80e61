"""``supersede`` and ``check``: what one memo has to do with others."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from recalld.bus.wire.base import Reply, Request
from recalld.model import State

Ref = Annotated[str, Field(min_length=1, max_length=4_096)]


class SupersedeRequest(Request):
    """Record that ``new`` replaced ``old``, both given by path, ``repo:path`` or a hit's id, and ``why``.

    ``dry_run`` only tells whether that would have an effect.
    """

    old: Ref
    new: Ref
    repo: str | None = None
    why: Annotated[str, Field(max_length=4_000)] = ""
    dry_run: bool = False


class SupersedeReply(Reply):
    """The edge stands. ``record`` is the file that says so: none in a dry run, or where the memory said it ``already``.

    A search with ``min_seq`` = ``seq`` sees it.
    """

    repo: str
    old: str
    new: str
    record: str
    already: bool = False
    seq: int = 0


class CheckRequest(Request):
    """Ask what a memo that is about to be saved has to do with what the memory holds.

    ``path`` is where it will stand, in the repo; what the memory holds at that very path is not compared with it.
    """

    path: Ref
    text: Annotated[str, Field(max_length=524_288)]
    repo: str | None = None


class CheckFinding(Reply):
    """One memo that this one has to do with.

    ``code``: ``near-duplicate`` (says the same), ``contradicts`` (another number, or the opposite),
    ``probably-supersedes`` (the same matter, and neither says which holds), ``relies-on-superseded`` (it names what no
    longer holds).
    ``suggestion`` is a line for its frontmatter, where one would settle it.
    """

    code: str
    repo: str
    path: str
    title: str
    message: str
    suggestion: str = ""


class CheckReply(Reply):
    """What to look at before saving, the gravest first; empty when there is nothing."""

    findings: tuple[CheckFinding, ...]
    compared: int
    state: State
