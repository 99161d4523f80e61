"""Ways to ask: each gives the state of the answer as it grows, the last one is whole."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, replace
from typing import Any

from recalld.bus import wire
from recalld_tui.link import Link
from recalld_tui.model.recall import Found, Question


@dataclass(frozen=True, slots=True)
class Answered:
    """What is known of an answer so far: ``words`` in prose, and the ``step`` that has begun; ``reply`` once whole."""

    reply: Found | None = None
    words: str = ""
    step: str = ""


Asking = Callable[[Link, Question], AsyncGenerator[Answered, None]]


async def search(link: Link, question: Question) -> AsyncGenerator[Answered, None]:
    """Ask for passages. Raises the daemon's named errors."""
    yield Answered(await link.ask(lambda client: client.search(k=question.k, **_fields(question))))


async def ask(link: Link, question: Question) -> AsyncGenerator[Answered, None]:
    """Ask for an answer in prose, as it is written. Raises the daemon's named errors; leaving calls the work off."""
    so_far = Answered()
    async with link.using() as client, client.asking(**_fields(question)) as parts:
        async for part in parts:
            if isinstance(part, wire.AskReply):
                yield Answered(part, part.answer)
            else:
                so_far = replace(so_far, words=so_far.words + part.text, step=part.step or so_far.step)
                yield so_far


def _fields(question: Question) -> dict[str, Any]:
    return {
        "query": question.text,
        "repo": (question.repo,) if question.repo else (),
        "as_of": question.as_of,
        "known_as_of": question.known_as_of,
        "trace": True,
    }


WAYS: dict[str, Asking] = {"search": search, "ask": ask}
"""By the name that is shown; the first is what one begins with."""
