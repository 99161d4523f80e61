"""Receipts: what an answer relied on, and who is told when it no longer stands."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from recalld.embed.hashing import HashingEmbedder
from recalld.model import Filters, Mode
from recalld.recall.answer import Answering, Question
from recalld.recall.receipts import Receipts
from recalld.trust.verdict import Moment
from tests.support.indexing import AT, Index, an_index

OLD = "decisions/jobs.md"
MEMORY = {
    OLD: b"# Jobs in Redis\n\nBackground jobs go through a Redis list.\n",
    "rules/freeze.md": b"---\nvalid_until: 2026-03-10\n---\n# Freeze\n\nNobody deploys during the regatta.\n",
    "notes/other.md": b"# Other\n\nKelp grows in the harbour.\n",
}


class House:
    """An index whose answers leave receipts; ``told`` are the events, ``now`` the time."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.now = AT
        self.told: list[tuple[str, Mapping[str, Any]]] = []
        self.receipts = Receipts(index.store, self._announce, lambda: self.now)
        index.worker.changed = self.receipts.documents_changed

    async def _announce(self, topic: str, facts: Mapping[str, Any]) -> None:
        self.told.append((topic, facts))

    async def ask(self, text: str, agent: str = "alice", as_of: datetime | None = None) -> str:
        """Ask for the one best hit; return the receipt."""
        answering = Answering(self.index.retriever(), self.index.store.standings, lambda hits: None)
        moment = Moment(as_of or self.now)
        question = Question(text, 1, Mode.RERANK, Filters(), self.index.generation.id, moment)
        return await self.receipts.give(agent, text, await answering.answer(question), as_of, None)

    async def happened(self, receipt: str, agent: str = "alice") -> list[str | None]:
        found = await self.receipts.examine(receipt, agent)
        assert found is not None
        return [broken.happened if broken else None for _, broken in found[1]]


@pytest.fixture
async def house(postgres: str) -> AsyncIterator[House]:
    async with an_index(postgres, HashingEmbedder()) as index:
        await index.add(MEMORY)
        yield House(index)


async def test_a_receipt_stands_while_nothing_changes(house: House) -> None:
    receipt = await house.ask("background jobs redis list")
    assert await house.happened(receipt) == [None]
    await house.index.add({"notes/new.md": b"# New\n\nSomething else.\n", OLD: MEMORY[OLD]})
    assert await house.happened(receipt) == [None]
    assert house.told == []


async def test_who_relied_on_a_superseded_decision_is_told_of_the_new_one(house: House) -> None:
    receipt = await house.ask("background jobs redis list")
    await house.ask("kelp in the harbour", agent="bob")
    await house.index.add({"decisions/work.md": b"---\nsupersedes: jobs\n---\n# Work\n\nPostgres.\n"})
    [(topic, facts)] = house.told
    assert topic == "invalidated.alice"
    assert facts["receipt"] == receipt
    assert (facts["path"], facts["happened"], facts["successor"]) == (OLD, "superseded", "decisions/work.md")
    assert await house.happened(receipt) == ["superseded"]


async def test_each_break_is_told_once(house: House) -> None:
    receipt = await house.ask("background jobs redis list")
    await house.index.add({OLD: b"# Jobs in Redis\n\nBackground jobs go through two Redis lists.\n"})
    await house.index.add({OLD: b"# Jobs in Redis\n\nBackground jobs go through three Redis lists.\n"})
    await house.receipts.sweep()
    assert [facts["happened"] for _, facts in house.told] == ["changed"]
    assert await house.happened(receipt) == ["changed"]


async def test_a_deleted_document(house: House) -> None:
    receipt = await house.ask("background jobs redis list")
    await house.index.delete(OLD)
    assert [(facts["path"], facts["happened"]) for _, facts in house.told] == [(OLD, "deleted")]
    assert await house.happened(receipt) == ["deleted"]


async def test_a_window_that_closes_by_the_clock(house: House) -> None:
    receipt = await house.ask("nobody deploys during the regatta")
    assert await house.receipts.sweep() == 0
    house.now += timedelta(days=30)
    assert await house.receipts.sweep() == 1
    assert [facts["happened"] for _, facts in house.told] == ["expired"]
    assert await house.receipts.sweep() == 0
    assert await house.happened(receipt) == ["expired"]


async def test_an_answer_about_a_day_in_the_past_does_not_expire(house: House) -> None:
    receipt = await house.ask("nobody deploys during the regatta", as_of=datetime(2026, 3, 5, tzinfo=UTC))
    house.now += timedelta(days=30)
    assert await house.receipts.sweep() == 0
    assert await house.happened(receipt) == [None]


async def test_what_changed_while_nobody_looked_is_found_by_the_sweep(house: House) -> None:
    await house.ask("background jobs redis list")
    house.index.worker.changed = None
    await house.index.delete(OLD)
    assert house.told == []
    assert await house.receipts.sweep() == 1
    assert [facts["happened"] for _, facts in house.told] == ["deleted"]


async def test_receipts_are_their_agents_own(house: House) -> None:
    receipt = await house.ask("background jobs redis list")
    assert await house.receipts.examine(receipt, "bob") is None
    assert await house.index.store.receipts.newest("bob", 10) == []
    [(row, cited, broken)] = await house.index.store.receipts.newest("alice", 10)
    assert (row.id, row.query, cited, broken) == (receipt, "background jobs redis list", 1, 0)


async def test_old_receipts_go(house: House) -> None:
    receipt = await house.ask("background jobs redis list")
    assert await house.index.store.receipts.prune(AT) == 0
    assert await house.index.store.receipts.prune(AT + timedelta(seconds=1)) == 1
    assert await house.receipts.examine(receipt, "alice") is None
    assert not await house.index.store.receipts.any_standing()
