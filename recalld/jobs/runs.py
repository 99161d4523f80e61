"""Runs jobs that were asked for: claims the slot, does the job, and writes down what became of it.

Who guarantees what: the bus gives each request to one node until that node answers for it, and gives it again when the
node falls silent; the claim (:mod:`recalld.store.jobs`) keeps two nodes from running a slot at once and a slot that has
ended from being run again; each word of a runner is checked by its claim's attempt, so one that was given up by others
changes nothing. A request is settled after its end is in Postgres, never before: what falls between is asked for again
and found to have ended.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import anyio
from anyio.abc import TaskGroup

from recalld.errors import NotFoundError, RecalldError
from recalld.jobs.execution import Ending, Execution
from recalld.jobs.job import JobRequest, Runner
from recalld.store import Store
from recalld.store.jobs import Claim, NotYours
from recalld.store.rows import JobRow

log = logging.getLogger(__name__)

Announce = Callable[[str, Mapping[str, Any]], Awaitable[None]]
AskAgain = Callable[[str, str, str], Awaitable[None]]
"""Puts a request on the bus again: job, slot, who wants it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how often (seconds, unless it says otherwise)."""

    timeout_s: Callable[[str], float]
    """After so long a job, by name, is stopped."""
    tries: int = 3
    """Failures after which a slot is given up (count)."""
    losses: int = 10
    """Nodes that may die while they run a slot before it is given up (count)."""
    delay_s: float = 30.0
    """Until a job that failed is tried again."""
    held_s: float = 5.0
    """Until a slot that another node holds, or a store that is away, is looked at again."""
    beat_s: float = 1.0
    """How often a run says that it goes on, tells its progress and hears of being cancelled."""
    stubborn_s: float = 10.0
    """How long a job may take to end when it is told to, before it is reported and left behind."""
    patience_s: float = 20.0
    """How long a store that is away is waited for, to write down how a run ended."""
    silence_s: float = 300.0
    """After so long without a word an open run is asked for again."""
    look_s: float = 30.0
    """How often such runs are looked for."""


@dataclass
class JobRuns:
    """Runs what it is called with, one at a time, by its ``runners``. To be entered with :meth:`open` first."""

    store: Store
    runners: Mapping[str, Runner]
    announce: Announce
    ask_again: AskAgain
    node: str
    limits: Limits
    clock: Callable[[], datetime]
    _group: TaskGroup | None = field(default=None, init=False)
    _stuck: set[str] = field(default_factory=set, init=False)
    """Jobs that were told to end here and did not."""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Look for runs that nobody is at while this is open; what still runs at its end is cancelled."""
        async with anyio.create_task_group() as group:
            self._group = group
            group.start_soon(self._keep_looking)
            yield
            group.cancel_scope.cancel()

    async def __call__(self, request: JobRequest) -> float | None:
        """Run a slot; return None when the request is settled, else after how many seconds it is to come again.

        Cancelled, it hands the slot back to be run by the next who is asked.
        """
        if request.name in self._stuck:
            return self.limits.delay_s
        try:
            async with self.store.jobs.claim(
                request.name, request.slot, node=self.node, by=request.requested_by, at=self.clock()
            ) as claim:
                if isinstance(claim, NotYours):
                    return self.limits.held_s if claim is NotYours.HELD else None
                return await self._run(claim)
        except RecalldError as error:
            log.warning("job %s in slot %s must wait: %s", request.name, request.slot, error.message)
            return self.limits.held_s

    async def _run(self, claim: Claim) -> float | None:
        run, facts = claim.run, _facts(claim.run)
        if claim.dead is not None:
            await self.announce("job.lost", {**facts, "node": claim.dead})
        if run.cancelled_by:
            return await self._end(run, Ending("cancelled", error=f"cancelled by {run.cancelled_by}"))
        if run.losses > self.limits.losses:
            return await self._end(run, Ending("failed", error=f"{run.losses} nodes died while they ran it"))
        await self.announce("job.started", facts)
        execution = Execution(claim, self._runner(run.name), self.announce, facts, self.clock, self.limits.beat_s)
        assert self._group is not None
        self._group.start_soon(execution.perform)
        try:
            ending = await execution.watch(self.limits.timeout_s(run.name))
            if ending.told_to_stop and not await execution.stopped(self.limits.stubborn_s):
                await self._leave_behind(execution, run)
        except anyio.get_cancelled_exc_class():
            execution.scope.cancel()
            with anyio.CancelScope(shield=True):
                await execution.stopped(self.limits.stubborn_s)
                await self._hand_back(run)
            raise
        return await self._end(run, execution.ending(ending))

    def _runner(self, name: str) -> Runner:
        async def missing(_: object) -> Mapping[str, Any]:
            raise NotFoundError(f"this node has no job {name}")

        return self.runners.get(name, missing)

    async def _hand_back(self, run: JobRow) -> None:
        """Say that this node stops and the run waits for another; if that cannot be said, the next claim finds out."""
        try:
            with anyio.fail_after(self.limits.held_s):
                back = await self.store.jobs.hand_back(
                    run, at=self.clock(), error=f"{self.node} was stopped in the middle", failed=False
                )
        except (RecalldError, TimeoutError) as error:
            log.warning("run %d of %s could not be handed back: %s", run.id, run.name, error)
            return
        if back:
            await self.announce("job.handed_back", _facts(run))

    async def _end(self, run: JobRow, ending: Ending) -> float | None:
        """Write down how a run ended and tell it; return when the slot is to come again."""
        facts = _facts(run)
        if ending.state == "failed" and run.failures + 1 < self.limits.tries and run.losses <= self.limits.losses:
            await self._write(lambda: self.store.jobs.hand_back(run, at=self.clock(), error=ending.error, failed=True))
            await self.announce("job.failed", {**facts, "reason": ending.error, "given_up": False})
            return self.limits.delay_s
        counts = await self._write(
            lambda: self.store.jobs.end(run, ending.state, at=self.clock(), result=ending.result, error=ending.error)
        )
        if counts is None:
            return self.limits.held_s
        if not counts:
            log.warning("run %d of %s was taken over by another node: its end here does not count", run.id, run.name)
            return self.limits.held_s
        await self.announce(f"job.{ending.state}", {**facts, **ending.facts()})
        return None

    async def _write(self, write: Callable[[], Awaitable[bool]]) -> bool | None:
        """Write, whatever is stopped meanwhile, waiting for a store that is away.

        None when it stays away: the next who claims the slot finds out.
        """
        deadline = anyio.current_time() + self.limits.patience_s
        written: bool | None = None
        with anyio.CancelScope(shield=True):
            while written is None and anyio.current_time() < deadline:
                try:
                    written = await write()
                except RecalldError as error:
                    log.warning("how a job ended could not be written down: %s", error.message)
                    await anyio.sleep(self.limits.beat_s)
        return written

    async def _leave_behind(self, execution: Execution, run: JobRow) -> None:
        """Go on without a job that does not end; it is not begun here again until it has."""
        log.error("job %s was told to end and does not: it is left behind", run.name)
        self._stuck.add(run.name)

        async def until_it_ends() -> None:
            await execution.ended.wait()
            self._stuck.discard(run.name)
            log.warning("job %s has ended at last", run.name)

        assert self._group is not None
        self._group.start_soon(until_it_ends)

    async def _keep_looking(self) -> None:
        while True:
            await anyio.sleep(self.limits.look_s)
            try:
                await self.look()
            except RecalldError as error:
                log.warning("lost runs cannot be looked for now: %s", error.message)

    async def look(self) -> None:
        """Ask again for open runs that nothing was heard of: their requests may be gone with the bus's storage."""
        now = self.clock()
        for run in await self.store.jobs.strays(now - timedelta(seconds=self.limits.silence_s), at=now):
            if run.state == "lost":
                await self.announce("job.lost", {**_facts(run), "node": run.node})
            await self.ask_again(run.name, run.slot, run.requested_by)


def _facts(run: JobRow) -> dict[str, Any]:
    return {"run": run.id, "name": run.name, "slot": run.slot, "attempt": run.attempt}
