"""A step of the story, as it is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from recalld.bus.wire import SearchReply

HITS = 5
AGENT = "demo"


@dataclass(frozen=True, slots=True)
class Scene:
    """One step of the story, with the daemon's reply where it was asked something.

    ``answer`` is the memo that answers the question, ``took_ms`` what a reader may want to know the duration of,
    ``shown`` what stood on a screen, line by line.
    """

    title: str
    says: str
    question: str = ""
    answer: str = ""
    reply: SearchReply | None = None
    took_ms: float | None = None
    shown: tuple[str, ...] = ()


Tell = Callable[[Scene], None]
