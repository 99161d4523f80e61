"""From the settings to who writes answers: an answerer of a plugin, under its daily budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import anyio

from recalld.episodes.answerer import Answerer, Completion, Prompt, Say
from recalld.episodes.extract import NAME as BUILT_IN
from recalld.errors import BusyError
from recalld.plugins import made, plugin
from recalld.settings import AskSettings
from recalld.store.spending import Spending

ANSWERERS = "recalld.answerers"
"""Group of entry points; each is called with the options and returns an answerer."""


@dataclass(frozen=True, slots=True)
class Budgeted:
    """An answerer that stops when its tokens of a day are spent; 0: it never does."""

    answerer: Answerer
    spending: Spending
    tokens_per_day: int
    clock: Callable[[], datetime]

    @property
    def name(self) -> str:
        """Who answers."""
        return self.answerer.name

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count as the answerer does."""
        return self.answerer.count_tokens(texts)

    async def complete(self, prompt: Prompt, say: Say | None = None) -> Completion:
        """Have it write. Raises BusyError where nothing is left of the day's budget, and as the answerer does.

        What broke off after its first word is paid for, too, and counted by what was seen of it.
        """
        day = self.clock().date()
        if self.tokens_per_day and await self.spending.of(day, self.name) >= self.tokens_per_day:
            raise BusyError(
                f"the {self.tokens_per_day} tokens of today are spent", suggestion="raise ask.tokens_per_day, or wait"
            )
        said: list[str] = []

        async def heard(words: str) -> None:
            said.append(words)
            if say is not None:
                await say(words)

        try:
            made = await self.answerer.complete(prompt, heard)
        except BaseException:
            if said:
                with anyio.CancelScope(shield=True):
                    await self.spending.add(day, self.name, self._estimate(prompt, "".join(said)))
            raise
        await self.spending.add(day, self.name, made.tokens)
        return made

    def _estimate(self, prompt: Prompt, said: str) -> int:
        return sum(self.count_tokens([prompt.system, prompt.user, said]))

    async def aclose(self) -> None:
        """Release the answerer."""
        await self.answerer.aclose()


def make_answerer(settings: AskSettings, spending: Spending, clock: Callable[[], datetime]) -> Budgeted | None:
    """Return the answerer that the settings name; None where answers are quoted.

    Raises ConfigError for an unknown name or bad options.
    """
    if settings.answerer == BUILT_IN:
        return None
    make = plugin(ANSWERERS, settings.answerer, "ask.answerer")
    answerer: Answerer = made(make, "ask.answerer_options", "docs/ask.md", settings.answerer_options)
    return Budgeted(answerer, spending, settings.tokens_per_day, clock)
