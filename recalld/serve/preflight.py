"""The verbs ``preflight`` and ``brief``: what to check before an act, and what to know at a beginning."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from recalld.bus import wire
from recalld.errors import NotFoundError
from recalld.lessons.guardrail import Action, Guardrail
from recalld.lessons.match import Firing
from recalld.lessons.told import Told
from recalld.model import Repo, State
from recalld.serve.rulebook import Rulebook
from recalld.serve.search import Note


@dataclass(slots=True)
class PreflightVerbs:
    """Answers from the rulebook alone: an act never waits for a database, nor for a model unless ``lessons.blend``."""

    rulebook: Rulebook
    freshness: Callable[[], Awaitable[wire.Freshness]]
    told: Told
    note: Note
    monotonic: Callable[[], float] = time.monotonic

    async def preflight(self, agent: str, request: wire.PreflightRequest) -> wire.PreflightReply:
        """Return the checklist; empty where nothing applies. Raises NotFoundError for a repo that is not watched."""
        begun = time.perf_counter()
        self._require(agent, request.repo)
        action = Action(request.text, request.tool, request.path, request.command)
        likeness = self.rulebook.likeness
        vector = await likeness.of_act(action) if likeness is not None else None
        fired = self._untold(agent, request, self.rulebook.match(agent, action, request.cwd, request.repo, vector))
        for repo, firing in fired:
            self.note("surfaced", repo.name, [firing.guardrail.id])
        return wire.PreflightReply(
            checks=tuple(_view(repo, firing.guardrail, firing) for repo, firing in fired),
            guardrails=self._count(agent, request.repo),
            state=self._state(),
            took_ms=(time.perf_counter() - begun) * 1e3,
        )

    def _untold(
        self, agent: str, request: wire.PreflightRequest, fired: list[tuple[Repo, Firing]]
    ) -> list[tuple[Repo, Firing]]:
        """Return what is told now: the surest that were not told in this session just before."""
        if not request.session:
            return fired[: request.limit]
        now = self.monotonic()
        places = {(agent, request.session, repo.name, one.guardrail.id): (repo, one) for repo, one in fired}
        fresh = [place for place in places if not self.told.lately(place, now)][: request.limit]
        for place in fresh:
            self.told.note(place, now)
        return [places[place] for place in fresh]

    async def brief(self, agent: str, request: wire.BriefRequest) -> wire.BriefReply:
        """Return how fresh the memory is and the rules that stand."""
        self._require(agent, request.repo)
        shelves = list(self.rulebook.shelves(agent, request.repo))
        rules = self.rulebook.standing(agent, request.repo, request.limit)
        for repo, rule in rules:
            self.note("surfaced", repo.name, [rule.id])
        return wire.BriefReply(
            state=self._state(),
            freshness=await self.freshness(),
            repos=tuple(shelf.repo.name for shelf in shelves),
            guardrails=self._count(agent, request.repo),
            proposed=sum(shelf.book.proposed for shelf in shelves),
            rules=tuple(_view(repo, rule) for repo, rule in rules),
        )

    def _count(self, agent: str, repos: tuple[str, ...]) -> int:
        return sum(len(shelf.book.matcher) for shelf in self.rulebook.shelves(agent, repos))

    def _require(self, agent: str, repos: tuple[str, ...]) -> None:
        if not self.rulebook.loaded:
            return
        known = {shelf.repo.name for shelf in self.rulebook.shelves(agent, repos)}
        for name in repos:
            if name not in known:
                raise NotFoundError(f"no repo {name}", suggestion="`recall repo list` names them")

    def _state(self) -> State:
        return State.READY if self.rulebook.loaded else State.WARMING


def _view(repo: Repo, guardrail: Guardrail, firing: Firing | None = None) -> wire.GuardrailView:
    return wire.GuardrailView(
        id=guardrail.id,
        repo=repo.name,
        path=guardrail.path,
        title=guardrail.title,
        check=guardrail.check,
        kind=guardrail.kind,
        shared=firing.shared if firing else (),
        confidence=round(firing.confidence, 3) if firing else None,
    )
