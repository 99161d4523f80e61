"""Looking a question up among those answered: what is served, what is dropped, and why."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from recalld.embed.hashing import HashingEmbedder
from recalld.episodes.confidence import EpisodeModel
from recalld.episodes.freshness import Freshness
from recalld.episodes.gate import Asked
from recalld.episodes.lookup import Found, Lookup
from recalld.errors import DependencyError
from recalld.jobs.episodes import EpisodeCare
from recalld.model import Filters, Vector
from recalld.store.episodes import Episode
from recalld.trust.receipts import Citation
from tests.support.episodes import by_hand
from tests.support.indexing import AT, Index, an_index

QUESTION = "How long are backups of the ledger kept?"
NEAR = "how long do we keep the backups of the ledger"
BACKUPS = b"# Backups\n\nBackups of the ledger are kept for thirty days.\n"


@dataclass(slots=True)
class House:
    """An index with one remembered answer; ``disk`` is what the node with the files says."""

    index: Index
    embedder: HashingEmbedder
    source: Citation
    disk: Mapping[Citation, bool] | None
    model: EpisodeModel | None = None

    async def _disk(self, sources: Sequence[Citation]) -> Mapping[Citation, bool]:
        if self.disk is None:
            raise DependencyError("the node does not say")
        return self.disk

    async def vector(self, text: str) -> Vector:
        return (await self.embedder.embed_query(text)).pooled

    async def remember(self, question: str = QUESTION, **fields: Any) -> int:
        asked = Asked(question)
        made = Episode(
            key="key", generation_id=self.index.generation.id, question=question, normal=asked.normal,
            gist=asked.gist, asks=asked.form.asks, scope=asked.form.scope, answer="“Kept for thirty days.” [1]",
            answerer="extractive", confidence=0.8, negative=False, citations=[{"number": 1}], sources=[self.source],
            floor=0.99, as_of=None, known_as_of=None, agent="alice", at=AT,
            indexed_at=await self.index.store.episodes.newest_indexed(),
            vector=await self.vector(question),
        )  # fmt: skip
        return await self.index.store.episodes.remember(replace(made, **fields))

    async def find(self, question: str = QUESTION, key: str = "key", *, days: float = 0) -> Found:
        def clock() -> datetime:
            return AT + timedelta(days=days)

        freshness = Freshness(self.index.store, self._disk, clock)
        lookup = Lookup(self.index.store, freshness, self.model, clock)

        async def vector() -> Vector:
            return await self.vector(question)

        return await lookup.find(key, Asked(question), Filters(agent="alice"), vector)


@pytest.fixture
async def house(postgres: str) -> AsyncIterator[House]:
    embedder = HashingEmbedder()
    async with an_index(postgres, embedder) as index:
        await index.add({"backups.md": BACKUPS})
        document = await index.store.documents.get("memory", "backups.md")
        assert document is not None
        source = Citation(document.id, "memory", "backups.md", document.content_hash, None)
        yield House(index, embedder, source, {source: True}, by_hand(index.generation.embedder_fingerprint))


async def test_the_same_words_are_served_without_a_model_and_others_are_not(house: House) -> None:
    house.model = None
    await house.remember()
    found = await house.find("  how long are BACKUPS of the ledger kept")
    assert (found.serves, found.confidence, found.why) == (True, 1.0, "the same question")
    assert (await house.find(NEAR)).episode is None
    assert (await house.find(key="other")).episode is None


async def test_other_words_are_served_with_one(house: House) -> None:
    await house.remember()
    found = await house.find(NEAR)
    assert found.serves, found
    assert found.episode is not None
    assert 0.6 < found.similarity < 1
    assert found.why == f"near {QUESTION!r}"
    assert (await house.find(NEAR, key="other")).episode is None


@pytest.mark.parametrize(
    "question",
    [
        "How long are backups of the ledger not kept?",
        "Where are backups of the ledger kept?",
        "How long are 3 backups of the ledger kept?",
        "How long are backups of the bookings kept?",
    ],
)
async def test_a_veto_is_told(house: House, question: str) -> None:
    await house.remember()
    found = await house.find(question)
    assert found.episode is None
    assert found.why.startswith("nothing near")


async def test_the_best_that_agrees_is_taken_though_a_nearer_one_does_not(house: House) -> None:
    await house.remember()
    await house.remember("how long do we not keep the backups of the ledger")
    found = await house.find(NEAR)
    assert found.episode is not None
    assert found.episode.question == QUESTION


async def test_what_was_remembered_by_other_rules_is_near_again_once_cared_for(house: House) -> None:
    await house.remember(gist="")
    assert (await house.find(NEAR)).episode is None
    assert (await house.find()).serves, "the same words need no gist"
    now = AT + timedelta(hours=1)
    await EpisodeCare(house.index.store, cap=10, session_days=1, clock=lambda: now)(lambda *_: None)
    assert (await house.find(NEAR)).serves


async def test_questions_of_common_words_alone_are_never_near(house: House) -> None:
    await house.remember("How does it work?")
    assert (await house.find("how do they work")).why.startswith("new words, too many or too common")


async def test_what_is_not_sure_enough_is_found_and_not_served(house: House) -> None:
    assert house.model is not None
    house.model = replace(house.model, threshold=0.999)
    await house.remember()
    found = await house.find(NEAR)
    assert (found.serves, found.episode is not None, found.standing.stale) == (False, True, "")
    assert found.why.startswith("not sure enough")


@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize(("helped", "failed", "serves"), [(0, 0, True), (0, 1, False), (1, 1, True), (2, 3, False)])
async def test_what_became_of_it_counts(house: House, fitted: bool, helped: int, failed: int, serves: bool) -> None:
    if not fitted:
        house.model = None
    id_ = await house.remember()
    for outcome, times in (("helped", helped), ("failed", failed)):
        for _ in range(times):
            await house.index.store.episodes.mark(id_, outcome)
    assert (await house.find()).serves is serves


async def test_age_makes_it_less_sure(house: House) -> None:
    await house.remember()
    fresh, old = await house.find(NEAR), await house.find(NEAR, days=360)
    assert old.confidence < fresh.confidence
    assert not (await house.find(NEAR, days=3_600)).serves


@pytest.mark.parametrize("answer", ["", "I'm sorry, but I can't help with that.", '{"error": "overloaded"}'])
async def test_junk_is_dropped_when_it_is_found(house: House, answer: str) -> None:
    id_ = await house.remember(answer=answer)
    found = await house.find()
    assert found.episode is None
    assert "is no answer" in found.why
    ended = await house.index.store.episodes.get(id_)
    assert ended is not None
    assert ended.ended.startswith("junk: ")
    assert (await house.find()).why.startswith("nothing near")


async def test_what_changed_is_ended(house: House) -> None:
    id_ = await house.remember()
    await house.index.add({"backups.md": b"# Backups\n\nBackups of the ledger are kept for ten days.\n"})
    found = await house.find()
    assert (found.serves, found.standing.stale) == (False, "backups.md: changed, its content is another now")
    ended = await house.index.store.episodes.get(id_)
    assert ended is not None
    assert ended.ended == f"stale: {found.standing.stale}"


async def test_what_is_gone_is_ended(house: House) -> None:
    await house.remember()
    await house.index.delete("backups.md")
    assert "deleted" in (await house.find()).standing.stale
    assert (await house.find()).episode is None


async def test_the_disk_is_ahead_of_the_index(house: House) -> None:
    await house.remember()
    house.disk = {house.source: False}
    found = await house.find()
    assert (found.serves, list(found.standing.behind)) == (False, [house.source])
    assert found.standing.stale == "backups.md changed on disk a moment ago"


async def test_a_disk_that_nobody_can_look_at_is_said(house: House) -> None:
    await house.remember()
    house.disk = None
    found = await house.find()
    assert found.serves
    assert found.standing.notes == ("the files themselves could not be looked at: the node does not say",)
    house.disk = {}
    assert (await house.find()).standing.notes == ("not looked at on disk, where it is no plain file now: backups.md",)


async def test_what_was_written_since_and_speaks_of_it(house: House) -> None:
    await house.remember(floor=0.3, indexed_at=AT - timedelta(days=1))
    assert (await house.find()).standing.stale == "backups.md was written since, and may speak of it"
    await house.remember(floor=1.0, indexed_at=AT - timedelta(days=1))
    assert (await house.find()).serves
    await house.remember(floor=None, indexed_at=AT - timedelta(days=1))
    assert (await house.find()).serves
