"""Ways to ask: each gives the state of the answer as it grows, the last one is whole."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from recalld.bus import wire
from recalld_tui.link import Link
from recalld_tui.model.recall import Question


@dataclass(frozen=True, slots=True)
class Answered:
    """What is known of an answer so far; ``words`` is what is told in prose, empty for a search."""

    reply: wire.SearchReply
    words: str = ""
    whole: bool = True


Asking = Callable[[Link, Question], AsyncIterator[Answered]]


async def search(link: Link, question: Question) -> AsyncIterator[Answered]:
    """Ask for passages. Raises the daemon's named errors."""
    yield Answered(
        await link.ask(
            lambda client: client.search(
                question.text,
                k=question.k,
                repo=(question.repo,) if question.repo else (),
                as_of=question.as_of,
                known_as_of=question.known_as_of,
                trace=True,
            )
        )
    )


WAYS: dict[str, Asking] = {"search": search}
"""By the name that is shown; the first is what one begins with."""
