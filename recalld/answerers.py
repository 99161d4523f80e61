"""From the settings to who writes answers: an answerer of a plugin, under its daily budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime

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
        """Have it write. Raises BusyError where too little is left of the day's budget, and as the answerer does.

        What it may take at most is set aside before, so that many at once stay within the budget, too. What broke off
        after its first word is paid for, and counted by what was seen of it.
        """
        day = self.clock().date()
        aside = await self._set_aside(day, prompt)
        taken, said = 0, list[str]()

        async def heard(words: str) -> None:
            said.append(words)
            if say is not None:
                await say(words)

        try:
            made = await self.answerer.complete(prompt, heard)
            taken = made.tokens
        except BaseException:
            taken = self._counted(prompt.system, prompt.user, "".join(said)) if said else 0
            raise
        finally:
            with anyio.CancelScope(shield=True):
                await self.spending.add(day, self.name, taken - aside)
        return made

    async def _set_aside(self, day: date, prompt: Prompt) -> int:
        """Take what a prompt may cost from a day's budget; return the tokens, 0 where there is no budget.

        It stays taken where this process is killed before it knows better.
        """
        if not self.tokens_per_day:
            return 0
        most = self._counted(prompt.system, prompt.user) + prompt.most
        if not await self.spending.reserve(day, self.name, most, self.tokens_per_day):
            raise BusyError(
                f"of today's {self.tokens_per_day:,} tokens fewer than {most:,} are left",
                suggestion="raise ask.tokens_per_day, or wait for tomorrow (UTC)",
            )
        return most

    def _counted(self, *texts: str) -> int:
        return sum(self.count_tokens(texts))

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
