"""Runs: lessons that are put away together, and the verb ``undo`` that brings them back byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from recalld.bus import wire
from recalld.errors import NotFoundError, RecalldError, RefusedError
from recalld.model import Repo
from recalld.serve.repo_files import RepoFiles
from recalld.store import Store
from recalld.store.lessons import Moved, Run
from recalld.watch.changing import Change, Create, Move

_MERGED = ".merged.md"
"""How the name of a merged lesson ends once its merge was undone."""


@dataclass(slots=True)
class Runs:
    """Carries runs out and undoes them. ``new_id`` gives names of runs, which are folders, too."""

    store: Store
    files: RepoFiles
    clock: Callable[[], datetime]
    new_id: Callable[[], str]

    async def carry_out(
        self, repo: Repo, run: str, kind: str, agent: str, moves: Sequence[Moved], makes: Sequence[Create] = ()
    ) -> int:
        """Move files away and make others, all or none, in a turn of the repo's; return the sequence to wait for.

        The run is noted before anything moves, so that a crash leaves nothing that cannot be undone.
        """
        made = tuple((each.path, sha256(each.content).hexdigest()) for each in makes)
        await self.store.lessons.add_run(repo.id, Run(run, repo.name, kind, self.clock(), agent, tuple(moves), made))
        changes: list[Change] = [Move(each.path, each.to, each.content_hash) for each in moves]
        try:
            return await self.files.change(repo, [*changes, *makes])
        except RecalldError:
            await self.store.lessons.drop_run(run)
            raise

    async def undo(self, agent: str, request: wire.UndoRequest) -> wire.UndoReply:
        """Bring back what a run moved. Raises NotFoundError, RefusedError where something stands in the way."""
        repos = {repo.name: repo for repo in await self.files.repos(agent, request.repo)}
        ids = [repo.id for repo in repos.values()]
        found = await self.store.lessons.runs(ids, id_=request.run)
        if request.run is None:
            return wire.UndoReply(runs=tuple(map(_view, found)))
        if not found:
            raise NotFoundError(f"no run {request.run}", suggestion="`recall undo` lists the newest")
        repo = repos[found[0].repo]
        if repo.read_only:
            raise RefusedError(f"{repo.name} is read-only", suggestion="let recalld write to it again first")
        async with self.files.turn(repo):
            [run] = await self.store.lessons.runs(ids, id_=request.run)
            if run.undone_at is not None:
                raise RefusedError(f"run {run.id} was undone already", suggestion="`recall undo` lists the newest")
            seq = await self.files.change(repo, _back(run))
            await self.store.lessons.undone(run.id, self.clock())
        [run] = await self.store.lessons.runs(ids, id_=request.run)
        return wire.UndoReply(runs=(_view(run),), seq=seq)


def _back(run: Run) -> list[Change]:
    """Return what brings the files back: what was made goes into the run's folder, then each file to its place."""
    changes: list[Change] = []
    for number, (path, content_hash) in enumerate(run.made, 1):
        folder = run.moves[0].to.partition(f"/{run.id}/")[0]
        changes.append(Move(path, f"{folder}/{run.id}/{number}{_MERGED}", content_hash))
    changes += [Move(each.to, each.path, each.content_hash) for each in run.moves]
    return changes


def _view(run: Run) -> wire.RunView:
    return wire.RunView(
        id=run.id,
        repo=run.repo,
        kind=run.kind,
        at=run.at,
        agent=run.agent,
        moves=tuple((each.path, each.to) for each in run.moves),
        made=tuple(path for path, _ in run.made),
        undone_at=run.undone_at,
    )
