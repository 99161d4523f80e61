"""Whether what an answer relies on still stands: by the index, by the disk itself, and by what came since.

The index may be behind a file that was saved a moment ago, so the node that has the disk is asked, too. And a document
that was written since may say what the answer does not know: a passage that is nearer to the question than the worst
one it relies on makes it stale.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from recalld.concurrent import both
from recalld.errors import RecalldError
from recalld.model import Filters
from recalld.store import Store
from recalld.store.episodes import Episode
from recalld.trust.graph import Graph
from recalld.trust.receipts import Citation, examine
from recalld.trust.verdict import Moment

Disk = Callable[[Sequence[Citation]], Awaitable[Mapping[Citation, bool]]]
"""Tells of documents whether their files are as they were; one that nobody can look at is left out."""

LOOKED_AT = 5_000
"""Passages written since that are compared at most; after more the answer is derived anew."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether an answer stands: ``stale`` is why not ("" while it does). ``behind`` are the documents of which the
    index does not know yet that they changed; ``notes`` say what could not be looked at."""

    stale: str
    behind: Sequence[Citation] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Freshness:
    """Looks at what answers rely on."""

    store: Store
    disk: Disk
    clock: Callable[[], datetime]

    async def of(self, episode: Episode, filters: Filters) -> Standing:
        """Say whether an episode still stands for somebody who asks with these filters."""
        moment = Moment(episode.as_of or self.clock(), episode.known_as_of)
        stale, (changed, newer) = await both(
            lambda: self._broken(episode.sources, moment),
            lambda: both(lambda: self.on_disk(episode.sources), lambda: self._newer(episode, filters)),
        )
        return Standing(stale or changed.stale or newer, changed.behind, changed.notes)

    async def on_disk(self, sources: Sequence[Citation]) -> Standing:
        """Say whether the files are as the index has them."""
        try:
            same = await self.disk(sources)
        except RecalldError as error:
            return Standing("", (), (f"the files themselves could not be looked at: {error.message}",))
        behind = [one for one in sources if same.get(one) is False]
        unseen = ", ".join(one.path for one in sources if one not in same)
        notes = (f"not looked at on disk, where it is no plain file now: {unseen}",) if unseen else ()
        return Standing(f"{behind[0].path} changed on disk a moment ago" if behind else "", behind, notes)

    async def _broken(self, sources: Sequence[Citation], moment: Moment) -> str:
        ids = [one.document_id for one in sources]
        members, hashes = await both(lambda: self.store.standings.around(ids), lambda: self.store.receipts.hashes(ids))
        graph = Graph(members)
        for one in sources:
            broken = examine(one, graph, hashes, moment)
            if broken is not None:
                return f"{one.path}: {broken.happened}, {broken.reason}"
        return ""

    async def _newer(self, episode: Episode, filters: Filters) -> str:
        if episode.floor is None or episode.indexed_at is None:
            return ""
        count, nearest = await self.store.episodes.newer(episode, filters, LOOKED_AT)
        if count > LOOKED_AT:
            return f"more than {LOOKED_AT} passages were indexed since"
        if nearest is not None and nearest[2] > episode.floor:
            return f"{nearest[1]} was written since, and may speak of it"
        return ""
