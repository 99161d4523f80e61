"""What verbs that answer questions have in common: who may see what, the clocks, and waiting for the index."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import anyio

from recalld.bus import wire
from recalld.errors import UsageError
from recalld.model import Filters, Generation, Mode
from recalld.recall.answer import Question
from recalld.serve.search import named_repos
from recalld.store import Store
from recalld.trust.verdict import Moment

POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a question is asked under: its filters, clocks, mode, and the repos that the caller sees, by id."""

    filters: Filters
    mode: Mode
    as_of: datetime | None
    known_as_of: datetime | None
    repo_ids: tuple[int, ...]

    def question(self, text: str, k: int, generation: Generation, now: datetime, trace: bool) -> Question:
        """Return a question of one generation."""
        moment = Moment(self.as_of or now, self.known_as_of)
        return Question(text, k, self.mode, self.filters, generation.id, moment, trace)


async def circumstances_of(
    store: Store,
    agent: str,
    request: wire.AskRequest | wire.EvidenceRequest,
    mode: Mode,
    indexed_past: Callable[[int], Awaitable[bool]],
) -> Circumstances:
    """Return what a request is asked under, once the index is as far as it wants. Raises NotFoundError."""
    if not any(character.isalnum() for character in request.query):
        raise UsageError("the question has no word in it", suggestion="ask in words")
    if request.min_seq is not None:
        while not await indexed_past(request.min_seq):  # noqa: ASYNC110 - what is waited for happens on other nodes
            await anyio.sleep(POLL_S)
    await named_repos(store, request.repo)
    visible = tuple(
        repo.id
        for repo in await store.repos.list()
        if (not repo.visible_to or agent in repo.visible_to) and (not request.repo or repo.name in request.repo)
    )
    filters = Filters(request.repo, request.kind, request.tag, request.path, request.since, request.until, agent)
    return Circumstances(filters, request.mode or mode, _zoned(request.as_of), _zoned(request.known_as_of), visible)


def _zoned(moment: datetime | None) -> datetime | None:
    """Return a moment with its zone, UTC where none is given."""
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment
