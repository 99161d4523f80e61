"""What an answerer may take a day: it holds across restarts, and what broke off counts."""

from __future__ import annotations

from datetime import UTC, datetime

import anyio
import pytest

from recalld.answerers import make_answerer
from recalld.episodes.answerer import Prompt
from recalld.errors import BusyError, ConfigError, DependencyError
from recalld.settings import AskSettings
from recalld.store import Store
from tests.support.chat_api import chat_api, raw, saying, stalling

ASKED = Prompt("Answer from passages.", "Passages:\n\n[1] a.md\nThe wall is red.\n\nQuestion: what colour?", 50)
GOOD = "The wall is red [1]."
MOST = 84
"""Tokens that ASKED may take: its prompt, and what it allows for an answer."""


async def test_a_days_budget_holds_across_restarts_and_ends_with_the_day(postgres: str) -> None:
    today = datetime(2026, 8, 19, 23, 59, tzinfo=UTC)
    clock = [today]
    with chat_api(saying(GOOD, tokens=400)) as api:
        options = {"model": "small", "base_url": api.url}
        settings = AskSettings(answerer="openai", answerer_options=options, tokens_per_day=700)
        for _ in range(2):
            store = await Store.open(postgres)
            model = make_answerer(settings, store.spending, lambda: clock[0])
            assert model is not None
            await model.complete(ASKED)
            await model.aclose()
            await store.aclose()
        store = await Store.open(postgres)
        model = make_answerer(settings, store.spending, lambda: clock[0])
        assert model is not None
        with pytest.raises(BusyError, match="of today's 700 tokens fewer than"):
            await model.complete(ASKED)
        assert len(api.requests) == 2
        clock[0] = datetime(2026, 8, 20, tzinfo=UTC)
        assert (await model.complete(ASKED)).text == GOOD
        await model.aclose()
        await store.aclose()


async def test_what_was_paid_for_counts_though_it_broke_off(postgres: str) -> None:
    store = await Store.open(postgres)
    day = datetime(2026, 8, 19, tzinfo=UTC)

    async def say(words: str) -> None:
        return

    with chat_api(stalling("The", " wall")) as api:
        options = {"model": "small", "base_url": api.url, "idle_timeout_s": 0.1}
        settings = AskSettings(answerer="openai", answerer_options=options, tokens_per_day=MOST)
        model = make_answerer(settings, store.spending, lambda: day)
        assert model is not None
        assert sum(model.count_tokens([ASKED.system, ASKED.user])) + ASKED.most == MOST
        with pytest.raises(DependencyError, match="said nothing"):
            await model.complete(ASKED, say)
        assert await store.spending.of(day.date(), model.name) == sum(
            model.count_tokens([ASKED.system, ASKED.user, "The wall"])
        )
        with pytest.raises(BusyError):
            await model.complete(ASKED, say)
        await model.aclose()
    await store.aclose()


async def test_many_at_once_stay_within_the_budget(postgres: str) -> None:
    store = await Store.open(postgres)
    day = datetime(2026, 8, 19, tzinfo=UTC)
    refused: list[BusyError] = []
    with chat_api(saying(GOOD, tokens=30)) as api:
        options = {"model": "small", "base_url": api.url}
        settings = AskSettings(answerer="openai", answerer_options=options, tokens_per_day=3 * MOST)
        model = make_answerer(settings, store.spending, lambda: day)
        assert model is not None

        async def ask() -> None:
            try:
                await model.complete(ASKED, _unheard)
            except BusyError as error:
                refused.append(error)

        async with anyio.create_task_group() as group:
            for _ in range(12):
                group.start_soon(ask)
        assert await store.spending.of(day.date(), model.name) == 30 * len(api.requests) <= 3 * MOST
        assert len(api.requests) + len(refused) == 12 and len(api.requests) >= 3
        await model.aclose()
    await store.aclose()


async def test_what_was_never_answered_costs_nothing(postgres: str) -> None:
    store = await Store.open(postgres)
    day = datetime(2026, 8, 19, tzinfo=UTC)
    with chat_api(raw('{"error": {"message": "no such model"}}', status=404)) as api:
        options = {"model": "small", "base_url": api.url}
        settings = AskSettings(answerer="openai", answerer_options=options, tokens_per_day=MOST)
        model = make_answerer(settings, store.spending, lambda: day)
        assert model is not None
        for _ in range(2):
            with pytest.raises(ConfigError):
                await model.complete(ASKED, _unheard)
        assert await store.spending.of(day.date(), model.name) == 0
        assert len(api.requests) == 2
        await model.aclose()
    await store.aclose()


async def _unheard(words: str) -> None:
    return
