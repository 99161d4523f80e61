"""The rulebook: every repo's guardrails in memory, kept equal to the index, so that no act waits for a database."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import PurePosixPath

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from recalld.errors import RecalldError
from recalld.ingest.kinds import GUIDING
from recalld.ingest.sources import FILES, sources_of
from recalld.lessons.book import Book, make_book
from recalld.lessons.guardrail import Action, Guardrail
from recalld.lessons.likes import Likeness, Vectors
from recalld.lessons.match import Firing, Gate
from recalld.model import Repo, Vector
from recalld.store import Store
from recalld.trust.graph import Graph

log = logging.getLogger(__name__)

LOOK_S = 10.0
"""How often the index is asked whether anything has changed that no event told of (seconds)."""
REST = 10.0
"""After a look that took so long, it is rested for so many times that long: a tenth of a core is the most it takes."""
RETRY_S = 1.0


@dataclass(slots=True)
class _Shelf:
    """A repo with its book, and what the index looked like when that was made."""

    repo: Repo
    signature: str
    book: Book
    vectors: Vectors | None = None

    def cosines(self, vector: Vector | None) -> Vector | None:
        """Return how near an act is to each guardrail, None where that is not known."""
        return self.vectors @ vector if self.vectors is not None and vector is not None else None


@dataclass(slots=True)
class Rulebook:
    """Answers from memory. ``changes`` gives something whenever the index may have changed: a hint, not the truth."""

    store: Store
    changes: Callable[[], AbstractAsyncContextManager[AsyncIterator[object]]]
    clock: Callable[[], datetime]
    gate: Callable[[], Gate]
    likeness: Likeness | None = None
    _shelves: dict[str, _Shelf] = field(default_factory=dict, init=False)
    _hint: anyio.Event = field(default_factory=anyio.Event, init=False)
    loaded: bool = field(default=False, init=False)
    """Whether every repo's guardrails have been read once."""

    def match(
        self, agent: str, action: Action, cwd: str, repos: Sequence[str], vector: Vector | None = None
    ) -> list[tuple[Repo, Firing]]:
        """Return what applies to an act in the directory ``cwd``, by the repos that an agent may see, surest first.

        ``vector`` is the act's, where sentence embeddings have a say.
        """
        found = [
            (shelf.repo, firing)
            for shelf in self.shelves(agent, repos)
            for firing in shelf.book.matcher.match(_placed(action, shelf.repo.path, cwd), shelf.cosines(vector))
        ]
        return sorted(found, key=lambda one: -one[1].confidence)

    def standing(self, agent: str, repos: Sequence[str], limit: int) -> list[tuple[Repo, Guardrail]]:
        """Return what to tell at a beginning, each repo's most important first."""
        columns = [[(one.repo, rule) for rule in one.book.standing[:limit]] for one in self.shelves(agent, repos)]
        rows = [column[row] for row in range(limit) for column in columns if row < len(column)]
        return rows[:limit]

    def shelves(self, agent: str, repos: Sequence[str]) -> Iterator[_Shelf]:
        """Yield the repos, of those named or of all, that an agent may see."""
        for shelf in self._shelves.values():
            visible = not shelf.repo.visible_to or agent in shelf.repo.visible_to
            if visible and (not repos or shelf.repo.name in repos):
                yield shelf

    async def keep(self) -> None:
        """Keep the books equal to the index for as long as the node lives."""
        async with self.changes() as changes, anyio.create_task_group() as group:
            group.start_soon(self._listen, changes, group)
            while True:
                pause = await self._look()
                await anyio.sleep(pause)
                with anyio.move_on_after(self._patience()):
                    await self._hint.wait()

    async def _listen(self, changes: AsyncIterator[object], group: TaskGroup) -> None:
        async for _ in changes:
            self._hint.set()

    async def _look(self) -> float:
        """Make the books anew whose repos have changed; return for how long to rest (seconds)."""
        self._hint = anyio.Event()
        begun = time.monotonic()
        try:
            await self.refresh()
        except RecalldError as error:
            log.warning("the rulebook cannot be read now: %s", error.message)
            return RETRY_S
        return (time.monotonic() - begun) * REST

    def _patience(self) -> float:
        """Return the seconds until the next look, by the clock of what turns valid or invalid."""
        now = self.clock()
        turns = [one.book.turns_at for one in self._shelves.values() if one.book.turns_at is not None]
        return min([LOOK_S, *((turn - now).total_seconds() + 0.001 for turn in turns)])

    async def refresh(self) -> None:
        """Compare with the index, and read what differs. Raises DependencyError."""
        repos = await self.store.repos.list()
        for name in set(self._shelves) - {repo.name for repo in repos}:
            del self._shelves[name]
        for repo in repos:
            await self._refresh(repo)
        self.loaded = True

    async def _refresh(self, repo: Repo) -> None:
        shelf = self._shelves.get(repo.name)
        now = self.clock()
        signature = await self.store.guides.signature(repo.id, GUIDING, FILES)
        if shelf is not None and (shelf.repo, shelf.signature) == (repo, signature) and not shelf.book.has_turned(now):
            return
        guides = await self.store.guides.of(repo.id, GUIDING)
        graph = Graph(await self.store.standings.around([guide.id for guide in guides]))
        sources = sources_of((await self.store.guides.named([repo.id], FILES)).get(repo.id, {}))
        held = [guide for guide in guides if guide.id in graph.members]  # else it went between the two reads
        pages = shelf.book.pages if shelf is not None else {}
        book = await to_thread.run_sync(make_book, held, graph, sources, now, pages, self.gate())
        vectors = await self.likeness.of_guardrails(book.matcher.guardrails) if self.likeness is not None else None
        self._shelves[repo.name] = _Shelf(repo, signature, book, vectors)


def _placed(action: Action, *roots: str) -> Action:
    """Return an act with its file as a path below the first of some directories that it is in."""
    pure = PurePosixPath(action.path)
    if not pure.is_absolute():
        return action
    root = next((root for root in roots if root and pure.is_relative_to(root)), None)
    return replace(action, path=str(pure.relative_to(root))) if root else action
