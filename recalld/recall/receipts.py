"""A memory that tells when it stops being true: receipts of answers, and word to those who relied on what ended."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recalld.recall.answer import Answer
from recalld.store import Store
from recalld.store.receipts import Receipt, Reliance
from recalld.trust.graph import Graph, Member
from recalld.trust.receipts import Break, Citation, examine
from recalld.trust.standing import standing_of

BITE = 500
"""Documents that one sweep looks at in one go."""

Announce = Callable[[str, Mapping[str, Any]], Awaitable[None]]
"""Publishes an event: topic and facts."""


@dataclass(frozen=True, slots=True)
class Receipts:
    """Gives receipts, and examines them when documents change or time passes."""

    store: Store
    announce: Announce
    clock: Callable[[], datetime]

    async def give(
        self, agent: str, query: str, answer: Answer, as_of: datetime | None, known_as_of: datetime | None
    ) -> str:
        """Keep what an answer relied on; return its id. The times are those that the question named."""
        return await self.keep(agent, query, _citations(answer), as_of, known_as_of)

    async def keep(
        self,
        agent: str,
        query: str,
        cited: Sequence[Citation],
        as_of: datetime | None,
        known_as_of: datetime | None,
    ) -> str:
        """Keep which documents an answer relied on (none: it abstained); return the receipt's id."""
        receipt = Receipt(uuid.uuid4().hex, agent, query, not cited, as_of, known_as_of, self.clock())
        await self.store.receipts.add(receipt, cited)
        return receipt.id

    async def documents_changed(self, places: Sequence[tuple[int, str]]) -> int:
        """Look at who relied on documents (repo id and path) or on what they replace; return how many were told."""
        if not places or not await self.store.receipts.any_standing():
            return 0
        return await self._recheck(await self.store.receipts.ids_of(places))

    async def sweep(self) -> int:
        """Look for what ended by the clock, or changed while nobody looked; return how many were told."""
        told = 0
        while documents := await self.store.receipts.overdue(self.clock(), BITE):
            done = await self._recheck(documents)
            told += done
            if not done:
                break
        return told

    async def examine(self, id_: str, agent: str) -> tuple[Receipt, list[tuple[Reliance, Break | None]]] | None:
        """Return an agent's receipt, and of each citation what has become of it by now."""
        found = await self.store.receipts.get(id_, agent)
        if found is None:
            return None
        receipt, cited = found
        members = await self.store.standings.around([reliance.citation.document_id for reliance in cited])
        judged = await self._judge(cited, members)
        return receipt, [(reliance, reliance.broken or broken) for reliance, broken in judged]

    async def _recheck(self, documents: Sequence[int]) -> int:
        members = await self.store.standings.around(documents)
        relying = await self.store.receipts.relying_on([*documents, *(member.id for member in members)])
        told = 0
        for reliance, broken in await self._judge(relying, members) if relying else ():
            if broken is not None and await self.store.receipts.mark(reliance, broken, self.clock()):
                await self.announce(f"invalidated.{reliance.receipt.agent}", _facts(reliance, broken))
                told += 1
        return told

    async def _judge(
        self, relying: Sequence[Reliance], members: Sequence[Member]
    ) -> list[tuple[Reliance, Break | None]]:
        graph = Graph(members)
        hashes = await self.store.receipts.hashes([reliance.citation.document_id for reliance in relying])
        now = self.clock()
        return [(one, examine(one.citation, graph, hashes, one.receipt.moment(now))) for one in relying]


def _citations(answer: Answer) -> list[Citation]:
    cited = {judged.hit.chunk.document_id: judged.hit.chunk for judged in answer.hits}
    return [
        Citation(id_, chunk.repo, chunk.path, chunk.content_hash, standing_of(chunk.metadata).valid_until)
        for id_, chunk in cited.items()
    ]


def _facts(reliance: Reliance, broken: Break) -> dict[str, Any]:
    return {
        "receipt": reliance.receipt.id,
        "query": reliance.receipt.query,
        "repo": reliance.citation.repo,
        "path": reliance.citation.path,
        "happened": broken.happened,
        "reason": broken.reason,
        "successor": broken.successor,
    }
