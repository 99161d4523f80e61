"""Answers in prose in the dashboard, before a real daemon whose model writes well, slowly or not at all."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator

import pytest
from anyio import to_thread
from textual.pilot import Pilot

from recalld.bus import wire
from recalld_tui.app import Dashboard
from recalld_tui.screens.document import Document
from recalld_tui.screens.recall import Recall
from tests.support.chat_api import ChatApi, chat_api, citing, saying, slowly
from tests.support.daemon import Daemon, running
from tests.support.dashboard import (
    QUIET,
    compare,
    index_texts,
    lines_of,
    recall_of,
    seen,
    shown,
    text_of,
    type_in,
    visit,
)
from tests.support.directories import short_directory

QUESTION = "why did we leave the message broker"
SAID = "The message broker lost messages [{n}]."


@pytest.fixture(scope="module")
def api() -> Iterator[ChatApi]:
    with chat_api() as served:
        yield served


@pytest.fixture(scope="module")
async def daemon(anyio_backend: str, api: ChatApi) -> AsyncIterator[Daemon]:
    model = {"RECALLD_ASK__ANSWERER": "openai"}
    model["RECALLD_ASK__ANSWERER_OPTIONS"] = json.dumps({"model": "small", "base_url": api.url, "key": "secret"})
    with short_directory() as directory:
        async with running(directory / "state", **QUIET, **model) as started:
            async with started.client() as client:
                await index_texts(client, directory / "memory")
            yield started


async def ask(app: Dashboard, pilot: Pilot[None], question: str) -> None:
    """Type a question; it is not answered yet."""
    await pilot.press("escape", "slash", "ctrl+a", "ctrl+k")
    await type_in(pilot, question)
    await pilot.press("enter")


async def answered(app: Dashboard, pilot: Pilot[None], question: str) -> wire.AskReply:
    await ask(app, pilot, question)
    await seen(pilot, lambda: isinstance(recall_of(app).reply, wire.AskReply) and not recall_of(app).is_asking)
    reply = recall_of(app).reply
    assert isinstance(reply, wire.AskReply)
    return reply


async def test_an_answer_says_what_it_relies_on_and_how_it_came_about(daemon: Daemon, api: ChatApi) -> None:
    api.respond = citing("lessons/force.md", "Two commits were lost [{n}].")
    async with shown(daemon, (80, 24), still=True) as (app, pilot):
        await visit(pilot, "2")
        await pilot.press("escape", "m")
        reply = await answered(app, pilot, "what happened after a force-push to a shared branch")
        assert reply.source == "retrieval" and [each.path for each in reply.citations] == ["lessons/force.md"]
        compare(app, "answer")
        await pilot.resize_terminal(160, 48)
        await seen(pilot, lambda: "2 Recall" in text_of(app) and "receipt " in text_of(app))
        compare(app, "answer")


async def test_an_answer_is_derived_then_remembered_and_its_citations_open(daemon: Daemon, api: ChatApi) -> None:
    api.respond = citing("decisions/0002-no-broker.md", SAID)
    async with shown(daemon, (120, 36)) as (app, pilot):
        await visit(pilot, "2")
        await pilot.press("escape", "m")
        assert "Ask for an answer" in text_of(app)
        first = await answered(app, pilot, QUESTION)
        said, requests = text_of(app), len(api.requests)
        assert first.source == "retrieval" and first.answer in said
        assert "derived anew, 1 citation" in said and "by openai:small@" in " ".join(said.split())
        assert all(step.step in said for step in first.path) and "ms" in said
        await seen(pilot, lambda: app.focused is not None and app.focused.id == "list")
        await pilot.press("t")
        assert "lexical" in text_of(app)
        await pilot.press("t")
        again = await answered(app, pilot, QUESTION)
        assert (again.source, again.answer) == ("memory", first.answer)
        assert "from memory, 1 citation" in text_of(app)
        assert len(api.requests) == requests
        await pilot.press("y")
        assert "memory:decisions/0002-no-broker.md" in app.clipboard and f"Receipt: {again.receipt}" in app.clipboard
        await pilot.press("t")
        assert "nothing was searched for" in text_of(app)
        await pilot.press("o")
        await seen(pilot, lambda: isinstance(app.screen, Document))
        assert any(each.strip().startswith("6 # We left the broker") for each in lines_of(app))
        await pilot.press("escape")
        assert isinstance(app.screen, Recall)


async def test_what_memory_does_not_have_is_not_answered(daemon: Daemon, api: ChatApi) -> None:
    api.respond = saying("NOT IN MEMORY.")
    async with shown(daemon, (120, 36)) as (app, pilot):
        await visit(pilot, "2")
        await pilot.press("escape", "m")
        reply = await answered(app, pilot, "who counts the buoys in spring")
        assert reply.abstained
        assert "I don't know" in text_of(app) and "no answer" in text_of(app)


async def test_words_are_seen_while_they_are_written_and_leaving_calls_the_rest_off(
    daemon: Daemon, api: ChatApi
) -> None:
    async with shown(daemon, (120, 36)) as (app, pilot):
        await visit(pilot, "2")
        await pilot.press("escape", "m")
        api.requests.clear()
        api.respond = slowly("harbour ")
        await ask(app, pilot, "what does the tide do")
        await seen(pilot, lambda: "harbour harbour harbour" in text_of(app))
        assert recall_of(app).is_asking and "asking: answer" in text_of(app)
        api.respond = slowly("tide ")
        await ask(app, pilot, "what does the tide do now")
        await seen(pilot, lambda: "tide tide tide" in text_of(app))
        assert await to_thread.run_sync(api.requests[0].closed.wait, 10.0), "asking anew ends what was asked before"
        assert not api.requests[-1].closed.is_set()
        await pilot.press("escape", "question_mark")
        await pilot.press("escape")
        assert recall_of(app).is_asking, "a dialog is no leaving"
        await pilot.press("1")
        assert await to_thread.run_sync(api.requests[-1].closed.wait, 10.0)
        await visit(pilot, "2")
        assert not recall_of(app).is_asking and "tide tide tide" not in text_of(app)
