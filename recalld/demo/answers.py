"""The scene of a question that is answered once: derived, remembered, asked in other words, stale after an edit."""

from __future__ import annotations

import anyio

from recalld.bus.client import RecallClient
from recalld.bus.wire import AskReply
from recalld.demo.scene import Scene, Tell
from recalld.demo.throwaway import REPO, ThrowAway
from recalld.errors import DependencyError

FIRST = "How many requests a minute may a terminal make?"
AGAIN = "How many requests per minute can terminals make?"
FILE = "decisions/0014-rate-limit-for-terminals.md"
BEFORE, AFTER = "600", "900"


async def tell_answers(daemon: ThrowAway, client: RecallClient, tell: Tell) -> None:
    """Tell it. Raises DependencyError where it does not come true."""
    derived = await _asked(client, FIRST, "retrieval")
    remembered = await _asked(client, AGAIN, "memory")
    path = anyio.Path(daemon.memory / FILE)
    await path.write_text((await path.read_text()).replace(BEFORE, AFTER))
    anew = await _asked(client, AGAIN, "retrieval")
    if not anew.stale or AFTER not in anew.answer:
        raise DependencyError(f"the edit of {FILE} was not noticed: {anew.answer or anew.reason}")
    tell(
        Scene(
            "A question that is answered once",
            "`recall ask` quotes what it relies on where no language model is configured, and keeps the answer: "
            f"derived in {derived.took_ms:.0f} ms, and asked in other words ({AGAIN}) served from memory in "
            f"{remembered.took_ms:.0f} ms, {derived.took_ms / remembered.took_ms:.0f} times as fast. Then somebody "
            f"saves the file with {AFTER} for {BEFORE}. The next question, at once: {anew.stale}; the answer is "
            "derived anew.",
            answer=FILE,
            took_ms=remembered.took_ms,
            shown=(FIRST, derived.answer, AGAIN, remembered.answer, f"{FILE} is saved", anew.answer),
        )
    )


async def _asked(client: RecallClient, question: str, source: str) -> AskReply:
    reply = await client.ask(query=question, repo=(REPO,))
    if reply.source != source:
        raise DependencyError(f"{question!r} was to be answered from {source}, and was from {reply.source}")
    return reply
