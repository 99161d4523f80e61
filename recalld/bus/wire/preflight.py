"""What to check before an act: the verbs ``preflight`` and ``brief``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from recalld.bus.wire.base import Reply, Request
from recalld.bus.wire.search import Freshness
from recalld.model import State


class PreflightRequest(Request):
    """What an agent is about to do, as far as it is known.

    ``path`` and ``cwd`` are the file and the directory that it works in, as it names them; ``repo`` narrows to repos.
    What was told in the same ``session`` (any name, of this agent) within ``lessons.again_s`` is not told again.
    """

    text: Annotated[str, Field(max_length=32_768)] = ""
    tool: Annotated[str, Field(max_length=200)] = ""
    path: Annotated[str, Field(max_length=4_096)] = ""
    command: Annotated[str, Field(max_length=32_768)] = ""
    cwd: Annotated[str, Field(max_length=4_096)] = ""
    session: Annotated[str, Field(max_length=200)] = ""
    repo: tuple[str, ...] = ()
    limit: Annotated[int, Field(ge=1, le=20)] = 3


class GuardrailView(Reply):
    """A line to check. ``id`` is what ``mark`` takes: the path, with ``#`` and a section's name where it is a part.

    ``shared`` are the act's words for which it fired, weightiest first; ``confidence`` is 0 to 1.
    """

    id: str
    repo: str
    path: str
    title: str
    check: str
    kind: str
    shared: tuple[str, ...] = ()
    confidence: float | None = None


class PreflightReply(Reply):
    """The checklist, surest first; empty where nothing applies. ``guardrails`` is how many were looked at."""

    checks: tuple[GuardrailView, ...]
    guardrails: int
    state: State
    took_ms: float


class BriefRequest(Request):
    """What an agent should know when it begins: how fresh the memory is, and the rules that stand."""

    cwd: Annotated[str, Field(max_length=4_096)] = ""
    repo: tuple[str, ...] = ()
    limit: Annotated[int, Field(ge=0, le=50)] = 5


class BriefReply(Reply):
    """``rules`` are those that stand, pinned ones first; ``proposed`` counts lessons that wait to be accepted."""

    state: State
    freshness: Freshness
    repos: tuple[str, ...]
    guardrails: int
    proposed: int
    rules: tuple[GuardrailView, ...]
