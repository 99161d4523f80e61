"""The verb ``receipts``: what an agent was told, and whether it still stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recalld.bus import wire
from recalld.errors import NotFoundError
from recalld.recall.receipts import Receipts
from recalld.store.receipts import Receipt, Reliance
from recalld.trust.receipts import Break


@dataclass(frozen=True, slots=True)
class ReceiptVerbs:
    """Shows an agent its own receipts; those of others are not known to it."""

    receipts: Receipts

    async def __call__(self, agent: str, request: wire.ReceiptsRequest) -> wire.ReceiptsReply:
        """Examine one receipt, or list the newest. Raises NotFoundError."""
        if request.id is None:
            rows = await self.receipts.store.receipts.newest(agent, request.limit)
            return wire.ReceiptsReply(receipts=tuple(_view(row, cited, not broken) for row, cited, broken in rows))
        found = await self.receipts.examine(request.id, agent)
        if found is None:
            raise NotFoundError(f"no receipt {request.id}", suggestion="`recall receipts` lists those of this agent")
        receipt, cited = found
        stands = all(broken is None for _, broken in cited)
        view = _view(receipt, len(cited), stands).model_copy(update={"citations": _citations(cited)})
        return wire.ReceiptsReply(receipts=(view,))


def _view(receipt: Receipt, cited: int, stands: bool) -> wire.ReceiptView:
    return wire.ReceiptView(
        id=receipt.id,
        agent=receipt.agent,
        query=receipt.query,
        at=receipt.at,
        abstained=receipt.abstained,
        as_of=receipt.as_of,
        known_as_of=receipt.known_as_of,
        stands=stands,
        cited=cited,
    )


def _citations(cited: Sequence[tuple[Reliance, Break | None]]) -> tuple[wire.CitationView, ...]:
    return tuple(
        wire.CitationView(
            repo=reliance.citation.repo,
            path=reliance.citation.path,
            content_hash=reliance.citation.content_hash,
            happened=broken.happened if broken else None,
            reason=broken.reason if broken else "",
            successor=broken.successor if broken else None,
            told_at=reliance.broken_at,
        )
        for reliance, broken in cited
    )
