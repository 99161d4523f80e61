"""The documents of all repos, kept as changes come."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from recalld.bus import wire
from recalld.model import DocumentState


@dataclass(slots=True)
class Shelf:
    """The newest state of every document; ``cursor`` is where the next delta begins."""

    cursor: str = ""
    known: dict[tuple[str, str], wire.Change] = field(default_factory=dict)

    def take(self, reply: wire.DeltaReply) -> None:
        """Take up changes; what was deleted is gone."""
        for change in reply.changes:
            if change.state is DocumentState.DELETED:
                self.known.pop((change.repo, change.path), None)
            else:
                self.known[change.repo, change.path] = change
        self.cursor = reply.cursor

    def find(self, text: str, limit: int) -> tuple[list[wire.Change], int]:
        """Return the documents whose place or state has all words of a text, by place, and how many there are."""
        words = text.lower().split()
        found = sorted(self._matching(words), key=lambda change: (change.repo, change.path))
        return found[:limit], len(found)

    def _matching(self, words: list[str]) -> Iterable[wire.Change]:
        for change in self.known.values():
            said = f"{change.repo}:{change.path} {change.state}".lower()
            if all(word in said for word in words):
                yield change
