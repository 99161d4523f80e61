"""Files that change while questions are asked: whether an answer ever has a value that is not on disk."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from recalld.bus import wire

LIMITS = (
    "upload", "session", "berth", "invoice", "webhook", "retry", "search", "export", "login", "payment", "ferry",
    "crane",
)  # fmt: skip
Ask = Callable[[str], Awaitable[wire.AskReply]]


@dataclass(slots=True)
class Seen:
    """What became of the questions, of which ``there`` had a file; ``stale`` are answers with what no file has."""

    asked: int = 0
    there: int = 0
    from_memory: int = 0
    right: int = 0
    abstained: int = 0
    stale: list[str] = field(default_factory=list)


class Limits:
    """Files with one value each, no value ever used twice, and a random walk over edits and questions."""

    def __init__(self, root: Path, seed: int) -> None:
        self._root = root
        self._dice = random.Random(seed)
        self._next = 1_000
        self._held: dict[str, int | None] = {}
        for name in LIMITS:
            self._write(name)

    def _write(self, name: str) -> None:
        self._next += 1
        self._held[name] = self._next
        (self._root / f"{name}.md").write_text(f"# The {name} limit\n\nThe {name} limit is {self._next}.\n")

    def _delete(self, name: str) -> None:
        if self._held[name] is not None:
            self._held[name] = None
            (self._root / f"{name}.md").unlink()

    async def walk(self, ask: Ask, turns: int) -> Seen:
        """Take so many turns: change a file and ask at once, or only ask, most often what was asked lately."""
        seen = Seen()
        lately = [LIMITS[0]]
        for _ in range(turns):
            act = self._dice.random()
            name = self._dice.choice(lately if act < 0.6 else LIMITS)
            lately = [*lately[-3:], name]
            if 0.45 <= act < 0.55:
                self._delete(name)
            elif act >= 0.35 and (act >= 0.7 or self._held[name] is None):
                self._write(name)
            self._look(await ask(f"What is the {name} limit?"), name, seen)
        return seen

    async def wrong(self, ask: Ask) -> list[str]:
        """Ask for every value that is there, once all is indexed; return the names of those not told."""
        there = {name: held for name, held in self._held.items() if held is not None}
        return [
            name for name, held in there.items() if str(held) not in (await ask(f"What is the {name} limit?")).answer
        ]

    def _look(self, reply: wire.AskReply, name: str, seen: Seen) -> None:
        held = self._held[name]
        seen.asked += 1
        seen.from_memory += reply.source == "memory"
        seen.abstained += reply.abstained
        seen.there += held is not None
        seen.right += held is not None and str(held) in reply.answer
        values = {str(value) for value in self._held.values() if value is not None}
        told = {word for word in _words(reply.answer) if word.isdigit() and len(word) == 4}
        if told - values:
            seen.stale.append(f"{name} is {held}: {reply.source} says {reply.answer!r}, {reply.path}")


def _words(text: str) -> list[str]:
    return "".join(letter if letter.isalnum() else " " for letter in text).split()
