"""Episodes and sessions in Postgres: what is found under which key, what ends, and what comes back as it was."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import anyio
import asyncpg
import numpy as np
import pytest

from recalld.model import Filters
from recalld.store import Store
from recalld.store.episodes import ALIKE, Episode
from recalld.store.sessions import Message, Session
from recalld.trust.receipts import Citation
from tests.support.stored import AT, DIMENSION, add_generation, add_repo, vectors, write

LATER = AT + timedelta(hours=1)
HOSTILE = 'nul \x00, lone \ud800 and \udcff, private \U0010ffff, \'; DROP TABLE episode; --, {"a": 1}, \u202e😀'


@pytest.fixture
async def store(postgres: str) -> AsyncIterator[Store]:
    opened = await Store.open(postgres)
    yield opened
    await opened.aclose()


@pytest.fixture
async def generation(store: Store) -> int:
    return await add_generation(store)


def episode(generation: int, question: str = "What is the limit?", **fields: Any) -> Episode:
    made = Episode(
        key="key", generation_id=generation, question=question, normal=question.casefold().strip("?"), gist="gist",
        asks="what", scope="single", answer="17 [1]", answerer="extractive", confidence=0.8, negative=False,
        citations=[{"number": 1, "path": "a.md", "text": "It is 17."}],
        sources=[Citation(1, "memory", "a.md", "hash", None)], floor=0.5, as_of=None, known_as_of=None,
        agent="alice", at=AT, indexed_at=AT, vector=vectors(question).pooled,
    )  # fmt: skip
    return replace(made, **fields)


async def test_the_same_words_under_the_same_key(store: Store, generation: int) -> None:
    kept = episode(generation, as_of=LATER, known_as_of=AT, negative=True, corrected=2)
    id_ = await store.episodes.remember(kept)
    [found] = await store.episodes.alike("key", kept.normal, "", 8)
    assert (found.id, found.similarity) == (id_, 1.0)
    assert np.allclose(found.vector, kept.vector, atol=1e-3)
    assert replace(found, id=0) == kept
    assert await store.episodes.alike("other", kept.normal, "gist", 8) == []
    assert await store.episodes.alike("key", "what is the limits", "", 8) == []
    assert await store.episodes.get(id_) == found


async def test_the_same_words_first_then_the_newest_of_the_gist_and_never_another_key_s(
    store: Store, generation: int
) -> None:
    for number, gist in enumerate(("gist", "gist", "gist", "another", "")):
        at = AT + timedelta(hours=number)
        await store.episodes.remember(episode(generation, f"q{number}", gist=gist, at=at))
        await store.episodes.remember(episode(generation, f"q{number}", gist=gist, at=at, key="key2"))

    async def alike(normal: str, gist: str, limit: int = 8, key: str = "key") -> list[str]:
        found = await store.episodes.alike(key, normal, gist, limit)
        assert all(one.key == key and one.sources for one in found)
        return [one.question for one in found]

    assert await alike("q0", "gist") == ["q0", "q2", "q1"]
    assert await alike("q0", "gist", 2) == ["q0", "q2"]
    assert await alike("new", "gist") == ["q2", "q1", "q0"]
    assert await alike("new", "another", key="key2") == ["q3"]
    assert await alike("q4", "") == ["q4"]
    assert await alike("new", "") == []
    assert await alike("q0", "gist", key="nobody's") == []


async def test_what_is_looked_at_does_not_grow_with_the_memory(store: Store, generation: int, postgres: str) -> None:
    """Right after a bulk there are no statistics: what serves both looks must be the only index that can."""
    for number in range(300):
        await store.episodes.remember(episode(generation, f"Question {number}?", gist=f"gist {number}"))
    connection = await asyncpg.connect(postgres)
    try:
        plan = await connection.fetchval(
            f"EXPLAIN (ANALYZE, FORMAT JSON) SELECT id FROM episode e WHERE {ALIKE}", "key", "question 7", "gist 8", 8
        )
    finally:
        await connection.close()
    every = list(nodes(json.loads(plan)[0]["Plan"]))
    assert every[0]["Actual Rows"] == 2
    assert not [node for node in every if node.get("Rows Removed by Filter")]


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield all steps of a plan."""
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)


async def test_a_question_too_long_for_an_index_is_found(store: Store, generation: int) -> None:
    by_lot = random.Random(3)
    long = "".join(chr(by_lot.randrange(0x4E00, 0x9FFF)) for _ in range(8_000))
    id_ = await store.episodes.remember(episode(generation, long, gist=""))
    assert [one.id for one in await store.episodes.alike("key", long, "", 8)] == [id_]
    again = await store.episodes.remember(episode(generation, long, gist=""))
    assert [one.id for one in await store.episodes.alike("key", long, "", 8)] == [again]


async def test_gists_are_written_anew(store: Store, generation: int) -> None:
    id_ = await store.episodes.remember(episode(generation, gist="by old rules"))
    await store.episodes.regist({id_: "by new rules", 999: "of nothing"})
    found = await store.episodes.get(id_)
    assert found is not None
    assert found.gist == "by new rules"


async def test_vectors_of_another_length_under_another_key_are_no_trouble(store: Store, generation: int) -> None:
    await store.episodes.remember(episode(generation, key="longer", vector=np.ones(DIMENSION * 2, np.float32)))
    await store.episodes.remember(episode(generation))
    [found] = await store.episodes.alike("key", "new", "gist", 8)
    assert found.key == "key"


async def test_a_later_answer_takes_the_place_of_the_earlier(store: Store, generation: int) -> None:
    first = await store.episodes.remember(episode(generation))
    second = await store.episodes.remember(episode(generation, answer="19 [1]", at=LATER))
    [found] = await store.episodes.alike("key", "what is the limit", "gist", 8)
    assert (found.id, found.answer) == (second, "19 [1]")
    before = await store.episodes.get(first)
    assert before is not None
    assert (before.ended, before.ended_at, len(before.vector)) == ("replaced", LATER, 0)
    assert await store.episodes.counts() == (1, 1)


async def test_what_is_remembered_at_once_by_many_is_there_once(store: Store, generation: int) -> None:
    ids: list[int] = []

    async def remember(number: int) -> None:
        ids.append(await store.episodes.remember(episode(generation, answer=f"{number} [1]")))

    async with anyio.create_task_group() as group:
        for number in range(12):
            group.start_soon(remember, number)
    assert len(set(ids)) == 12
    assert await store.episodes.counts() == (1, 11)
    [found] = await store.episodes.alike("key", "what is the limit", "gist", 8)
    assert found.id in ids


async def test_what_ended_is_not_found_and_is_dropped_after_a_while(store: Store, generation: int) -> None:
    first, second = [await store.episodes.remember(episode(generation, name)) for name in ("one", "two")]
    assert await store.episodes.end([first], "stale: changed", AT) == 1
    assert await store.episodes.end([first, 999], "again", LATER) == 0
    ended = await store.episodes.get(first)
    assert ended is not None
    assert (ended.ended, ended.ended_at) == ("stale: changed", AT)
    assert ended.sources
    assert [one.id for one in await store.episodes.alike("key", "one", "gist", 8)] == [second]
    assert [one.id for one in await store.episodes.listed("alice", False, 9)] == [second]
    assert [one.id for one in await store.episodes.listed(None, True, 9)] == [second, first]
    assert await store.episodes.listed("bob", True, 9) == []
    assert [one.id for one in await store.episodes.standing(0, 9)] == [second]
    assert await store.episodes.standing(second, 9) == []
    assert await store.episodes.prune(AT) == 0
    assert await store.episodes.prune(LATER) == 1
    assert await store.episodes.get(first) is None
    assert await store.episodes.counts() == (1, 0)
    again = await store.episodes.remember(episode(generation, "one"))
    assert again not in (first, second)


async def test_outcomes_are_counted(store: Store, generation: int) -> None:
    id_ = await store.episodes.remember(episode(generation))
    for outcome in ("helped", "failed", "failed"):
        await store.episodes.mark(id_, outcome)
    await store.episodes.served(id_, LATER)
    found = await store.episodes.get(id_)
    assert found is not None
    assert (found.helped, found.failed, found.served, found.last_served_at) == (1, 2, 1, LATER)
    assert await store.episodes.mark(id_ + 1, "helped") is None


async def test_what_was_indexed_since(store: Store, generation: int) -> None:
    memory, secret = await add_repo(store), await add_repo(store, "secret", ("bob",))
    await write(store, memory, generation, "old.md", "the tide is high")
    asked = episode(generation, indexed_at=await store.episodes.newest_indexed(), vector=vectors("limit 17").pooled)
    assert await store.episodes.newer(asked, Filters(agent="alice"), 9) == (0, None)
    before = replace(asked, indexed_at=AT - timedelta(seconds=1))
    await write(store, memory, generation, "new.md", "limit 17", "something else", kind="decision")
    await write(store, secret, generation, "hidden.md", "limit 17")
    count, nearest = await store.episodes.newer(before, Filters(agent="alice"), 9)
    assert nearest is not None
    assert (count, nearest[:2]) == (3, ("memory", "new.md"))
    assert nearest[2] == pytest.approx(1.0, abs=0.01)
    assert (await store.episodes.newer(before, Filters(agent="bob"), 9))[0] == 4
    assert (await store.episodes.newer(before, Filters(agent="alice", kinds=("decision",)), 9))[0] == 2
    assert await store.episodes.newer(before, Filters(agent="alice", path="none/**"), 9) == (0, None)
    assert await store.episodes.newer(before, Filters(agent="alice"), 2) == (3, None)


async def test_any_text_comes_back(store: Store, generation: int) -> None:
    kept = episode(
        generation, HOSTILE, answer=HOSTILE, agent="bob", answerer=HOSTILE, citations=[{"text": HOSTILE}],
        sources=[Citation(7, "memory", HOSTILE, "hash", LATER)],
    )  # fmt: skip
    id_ = await store.episodes.remember(kept)
    await store.episodes.end([id_], HOSTILE, AT)
    found = await store.episodes.get(id_)
    assert found is not None
    assert (found.question, found.answer, found.answerer, found.ended) == (HOSTILE,) * 4
    assert (found.citations, found.sources) == (kept.citations, kept.sources)


async def test_fitted_models_are_kept_by_embedder(store: Store) -> None:
    assert await store.episodes.fitted("one") is None
    await store.episodes.keep_fitted("one", {"bias": 1}, AT)
    await store.episodes.keep_fitted("one", {"bias": 2}, AT)
    assert await store.episodes.fitted("one") == {"bias": 2}
    assert await store.episodes.fitted("two") is None


async def test_sessions_are_their_agent_s(store: Store) -> None:
    sessions = store.sessions
    assert await sessions.create(Session("s", "alice", HOSTILE, AT, AT))
    assert not await sessions.create(Session("s", "alice", "again", LATER, LATER))
    assert await sessions.create(Session("s", "bob", "Bob's", AT, AT))
    found = await sessions.get("alice", "s")
    assert found == Session("s", "alice", HOSTILE, AT, AT, 0)
    assert await sessions.get("carol", "s") is None
    await sessions.say("alice", "s", [Message("user", HOSTILE, AT), Message("memory", "17", LATER, HOSTILE, "r1")])
    assert [one.text for one in await sessions.messages("alice", "s", 9)] == [HOSTILE, "17"]
    [last] = await sessions.messages("alice", "s", 1)
    assert last == Message("memory", "17", LATER, HOSTILE, "r1", 2)
    assert await sessions.messages("bob", "s", 9) == []
    assert await sessions.rename("alice", "s", "Limits")
    assert not await sessions.rename("carol", "s", "x")
    assert [(one.title, one.messages, one.updated_at) for one in await sessions.newest("alice", 9)] == [
        ("Limits", 2, LATER)
    ]
    assert await sessions.delete("alice", "s")
    assert not await sessions.delete("alice", "s")
    await sessions.say("alice", "s", [Message("user", "gone", AT)])
    assert await sessions.messages("alice", "s", 9) == []
    assert await sessions.get("bob", "s") is not None


async def test_what_is_said_at_once_has_an_order(store: Store) -> None:
    await store.sessions.create(Session("s", "alice", "", AT, AT))

    async def say(number: int) -> None:
        await store.sessions.say("alice", "s", [Message("user", f"q{number}", AT), Message("memory", f"a{number}", AT)])

    async with anyio.create_task_group() as group:
        for number in range(10):
            group.start_soon(say, number)
    said = await store.sessions.messages("alice", "s", 99)
    assert [one.number for one in said] == list(range(1, 21))
    assert all(ask.text[1:] == answer.text[1:] for ask, answer in zip(said[::2], said[1::2], strict=True))


async def test_the_session_used_last_comes_first_and_unused_ones_go(store: Store) -> None:
    for name, at in (("old", AT), ("new", LATER)):
        await store.sessions.create(Session(name, "alice", "", at, at))
    assert [one.id for one in await store.sessions.newest("alice", 9)] == ["new", "old"]
    assert [one.id for one in await store.sessions.newest("alice", 1)] == ["new"]
    assert await store.sessions.prune(LATER) == 1
    assert [one.id for one in await store.sessions.newest("alice", 9)] == ["new"]
