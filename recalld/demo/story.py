"""The story that the demo tells: seven questions, a memory saved while we watch, and one thing it cannot know."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources

import anyio

from recalld.bus.client import RecallClient
from recalld.bus.wire import SearchReply, SearchRequest, StatsRequest
from recalld.demo.answers import tell_answers
from recalld.demo.lesson import tell_lesson
from recalld.demo.scene import AGENT, HITS, Scene, Tell
from recalld.demo.throwaway import REPO, ThrowAway
from recalld.errors import DependencyError

INDEXED_S, RECALLED_S = 120.0, 30.0
"""How long the first index, and the recall of one saved file, may take."""
POLL_S = 0.005


@dataclass(frozen=True, slots=True)
class Question:
    """Something to ask, the memo that answers it, and what to look at in the reply.

    ``answer`` is empty where none may be given. ``withheld`` is a memo that is found and must not be an answer,
    ``as_of`` the day that the question is about.
    """

    text: str
    answer: str
    look: str
    withheld: str = ""
    as_of: datetime | None = None


QUESTIONS = (
    Question(
        "Do mails and the nightly price import go through a Redis list that two workers take them off?",
        "decisions/0009-jobs-in-postgres.md",
        "Asked in the words of a decision that was reversed. The old memo is the nearest text there is, and it is not "
        "an answer: the one that replaced it is, and says whose place it takes.",
        withheld="decisions/0003-jobs-in-redis.md",
    ),
    Question(
        "Are booking times stored in harbour local time or in UTC?",
        "decisions/0008-utc-times.md",
        "The memory holds both answers. One holds today.",
        withheld="decisions/0002-local-times.md",
    ),
    Question(
        "Are booking times stored in harbour local time or in UTC? (as of 15 July 2024)",
        "decisions/0002-local-times.md",
        "The same question about a day in the past, `--as-of 2024-07-15`: then the other one held.",
        withheld="decisions/0008-utc-times.md",
        as_of=datetime(2024, 7, 15, tzinfo=UTC),
    ),
    Question(
        "May anything be deployed to production during the regatta week in July 2025?",
        "",
        "A rule with an end, and the end has gone by. The freeze is found, named as expired, and not served.",
        withheld="rules/deploy-freeze-regatta.md",
    ),
    Question(
        "ERR_POOL_EXHAUSTED",
        "incidents/2025-05-01-pool-exhausted.md",
        "An error code is a word like any other: the lexical leg keeps identifiers whole.",
    ),
    Question(
        "Should we split the booking system into separate services, each with a database of its own?",
        "proposals/split-into-services.md",
        "It was proposed once, and the answer was no. Knowing that saves an afternoon.",
    ),
    Question(
        "What should I check before I add a column to the booking table?",
        "lessons/no-daytime-rewrites.md",
        "A lesson, paid for once already.",
    ),
)

SAVED = "decisions/0016-shore-power.md"
SAVED_TEXT = """\
---
title: Berths with shore power can be booked on their own
kind: decision
status: accepted
tags: [bookings, prices]
---
# ADR-0016: Berths with shore power can be booked on their own

Port Ellery asked for it in June and we parked it. A berth now says how many amperes its socket gives, guests may ask
for 16 A or more, and the harbour sets one price a night for the current. Members of the harbour's club keep the first
right to these berths until the first of May.
"""
SAVED_QUESTION = "Who gets the berths with electricity first?"
UNKNOWN = "How many days of parental leave does the company give?"


def memo_count() -> int:
    """Return how many memos the sample memory has."""
    folders = [entry for entry in (resources.files("recalld.demo") / "memory").iterdir() if entry.is_dir()]
    return sum(entry.name.endswith(".md") for folder in folders for entry in folder.iterdir())


async def tell_story(daemon: ThrowAway, tell: Tell) -> None:
    """Tell it all, scene by scene. Raises DependencyError when the daemon does not get done in time."""
    async with daemon.client(AGENT) as client:
        passages, took_s = await _indexed(client)
        tell(
            Scene(
                f"A memory of {memo_count()} memos",
                "Mooring books berths for small harbours. Five people, two years: decisions, six of them reversed, "
                "incidents, lessons, proposals that were turned down.\n"
                f"A daemon with its own Postgres and NATS was ready after {daemon.started_in_s:.1f} s. {took_s:.1f} s "
                f"later it had read all of it, {passages} passages, and asked itself what it can answer and what not: "
                "that is how it knows how sure to be.",
            )
        )
        for question in QUESTIONS:
            reply = await _ask(client, question.text, question.as_of)
            tell(Scene("", question.look, question.text, question.answer, reply, reply.took_ms))
        await _save(daemon, client, tell)
        await tell_answers(daemon, client, tell)
        await tell_lesson(daemon, client, tell)
        reply = await _ask(client, UNKNOWN)
        tell(Scene("Something it cannot know", on_the_unknown(reply), UNKNOWN, "", reply, reply.took_ms))


def on_the_unknown(reply: SearchReply) -> str:
    """Say what became of a question that the memory has no answer to."""
    if reply.abstained:
        return f"It says so: {reply.reason}."
    best = reply.hits[0]
    return (
        f"It should have said so, and did not: it is {best.confidence or 0:.0%} sure of {best.path}. A threshold errs, "
        "too; `recall calibrate` says how often."
    )


async def _indexed(client: RecallClient) -> tuple[int, float]:
    """Wait until the whole memory is indexed and calibrated; return the passages and the seconds."""
    begun = time.perf_counter()
    with anyio.move_on_after(INDEXED_S):
        while True:
            stats = await client.stats(StatsRequest(repo=REPO, findings=0))
            done = [repo for repo in stats.repos if repo.documents == memo_count()]
            if done and stats.freshness.pending == 0 and (await _ask(client, AGENT)).calibrated:
                return done[0].chunks, time.perf_counter() - begun
            await anyio.sleep(POLL_S * 10)
    raise DependencyError(f"the sample memory was not indexed and calibrated within {INDEXED_S:.0f} s")


async def _save(daemon: ThrowAway, client: RecallClient, tell: Tell) -> None:
    """Save a memo as an editor would, and ask until it is recalled."""
    before = await _ask(client, SAVED_QUESTION)
    path = anyio.Path(daemon.memory / SAVED)
    await path.write_text(SAVED_TEXT)
    begun = time.perf_counter()
    with anyio.move_on_after(RECALLED_S):
        while True:
            reply = await _ask(client, SAVED_QUESTION)
            if any(hit.path == SAVED for hit in reply.hits):
                took_ms = (time.perf_counter() - begun) * 1e3
                tell(
                    Scene(
                        "A memory saved while we watch",
                        f"Before, the best hit was {before.hits[0].path if before.hits else 'nothing'}. Then an "
                        f"ordinary file was saved, {SAVED}, and {took_ms:.0f} ms later the same question finds it.",
                        SAVED_QUESTION,
                        SAVED,
                        reply,
                        took_ms,
                    )
                )
                return
            await anyio.sleep(POLL_S)
    raise DependencyError(f"the saved memo was not recalled within {RECALLED_S:.0f} s")


async def _ask(client: RecallClient, question: str, as_of: datetime | None = None) -> SearchReply:
    return await client.search(SearchRequest(query=question, k=HITS, repo=(REPO,), as_of=as_of))
