"""The verbs ``episodes`` and ``episodes.mark``: what is remembered of answers, and what became of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from recalld.bus import wire
from recalld.errors import NotFoundError
from recalld.jobs.episodes import EpisodeCare
from recalld.store import Store
from recalld.store.episodes import Episode


@dataclass(frozen=True, slots=True)
class EpisodeVerbs:
    """Shows an agent the answers that were derived for it, and takes its word on any that it was given."""

    store: Store
    clock: Callable[[], datetime]
    care: Callable[[bool], EpisodeCare]

    async def episodes(self, agent: str, request: wire.EpisodesRequest) -> wire.EpisodesReply:
        """List the newest, or show one with its citations. Raises NotFoundError."""
        standing, over = await self.store.episodes.counts()
        if request.id is None:
            found = await self.store.episodes.listed(agent, request.ended, request.limit)
            return wire.EpisodesReply(episodes=tuple(map(_view, found)), standing=standing, over=over)
        shown = await self._one(agent, request.id)
        citations = tuple(wire.Citation.model_validate(dict(one)) for one in shown.citations)
        view = _view(shown).model_copy(update={"citations": citations})
        return wire.EpisodesReply(episodes=(view,), standing=standing, over=over)

    async def mark(self, agent: str, request: wire.EpisodeMarkRequest) -> wire.EpisodesReply:
        """Count an outcome, or forget the answer. Raises NotFoundError."""
        await self._one(agent, request.id)
        if request.outcome == "forget":
            await self.store.episodes.end([request.id], f"forgotten by {agent}", self.clock())
        else:
            await self.store.episodes.mark(request.id, request.outcome)
        return wire.EpisodesReply(episodes=(_view(await self._one(agent, request.id)),))

    async def tidy(self, agent: str, request: wire.EpisodesTidyRequest) -> wire.EpisodesTidyReply:
        """Look through all that is remembered, as the job ``episodes`` does."""
        done = await self.care(request.merge)(lambda done, total, words: None)
        return wire.EpisodesTidyReply.model_validate(dict(done))

    async def _one(self, agent: str, id_: int) -> Episode:
        """Return an episode that an agent may see: all of whose sources are in repos that it may."""
        found = await self.store.episodes.get(id_)
        repos = {repo.name: repo for repo in await self.store.repos.list()}
        if found is not None:
            needed = [repos.get(source.repo) for source in found.sources]
            if found.agent == agent or all(
                repo is not None and (not repo.visible_to or agent in repo.visible_to) for repo in needed
            ):
                return found
        raise NotFoundError(f"no episode {id_}", suggestion="`recall episodes list` names those of this agent")


def _view(episode: Episode) -> wire.EpisodeView:
    return wire.EpisodeView.model_validate(
        {name: getattr(episode, name) for name in wire.EpisodeView.model_fields if name != "citations"}
    )
