"""The verbs ``jobs``, ``jobs.run`` and ``jobs.cancel``."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from recalld.bus import wire
from recalld.errors import NotFoundError, RecalldError
from recalld.jobs.job import plans
from recalld.jobs.slots import Plan
from recalld.settings import ScheduleSettings
from recalld.store import Store

Publish = Callable[[str, str, str], Awaitable[None]]
"""Asks for a job: its name, its slot, who wants it."""


@dataclass
class JobVerbs:
    """Tells of jobs, and asks for them.

    The schedule is computed from this node's own settings: scheduling nodes that have others ask at other times.
    """

    store: Store
    settings: ScheduleSettings
    publish: Publish
    unsettled: Callable[[], Awaitable[int]]
    node: str
    clock: Callable[[], datetime]
    _plans: Mapping[str, Plan] = field(init=False)

    def __post_init__(self) -> None:
        self._plans = {plan.name: plan for plan in plans(self.settings)}

    async def jobs(self, agent: str, request: wire.JobsRequest) -> wire.JobsReply:
        """Return the schedule and past runs. Raises NotFoundError for a job or run that there is not."""
        if request.name is not None:
            self._require(request.name)
        last = {row.name: wire.JobRunView.model_validate(row) for row in await self.store.jobs.last()}
        return wire.JobsReply(
            jobs=tuple(
                self._view(name, when, last.get(name))
                for name, when in self.settings.when().items()
                if request.name in (None, name)
            ),
            runs=await self._runs(request),
            unsettled=await self.unsettled(),
        )

    async def run(self, agent: str, request: wire.JobsRunRequest) -> wire.JobRunReply:
        """Ask for a job now. Raises NotFoundError for one that there is not."""
        self._require(request.name)
        slot = f"manual-{request.key or secrets.token_hex(8)}"
        row = await self.store.jobs.ask(request.name, slot, by=agent, at=self.clock())
        if row.state == "queued":
            try:
                await self.publish(request.name, slot, agent)
            except RecalldError as error:
                await self.store.jobs.cancel(row.id, by=f"{self.node}: {error.message}", at=self.clock())
                raise
        return wire.JobRunReply(run=wire.JobRunView.model_validate(row))

    async def cancel(self, agent: str, request: wire.JobsCancelRequest) -> wire.JobRunReply:
        """Call off a run; one that has ended stays as it is. Raises NotFoundError for one that there is not."""
        row = await self.store.jobs.cancel(request.id, by=agent, at=self.clock())
        if row is None:
            raise _no_run(request.id)
        return wire.JobRunReply(run=wire.JobRunView.model_validate(row))

    async def _runs(self, request: wire.JobsRequest) -> tuple[wire.JobRunView, ...]:
        if request.id is None:
            rows = await self.store.jobs.list(name=request.name, limit=request.limit)
        elif (row := await self.store.jobs.get(request.id)) is not None:
            rows = [row]
        else:
            raise _no_run(request.id)
        return tuple(wire.JobRunView.model_validate(row) for row in rows)

    def _view(self, name: str, when: str, last: wire.JobRunView | None) -> wire.JobView:
        plan = self._plans.get(name)
        return wire.JobView(
            name=name,
            when=when,
            next_at=plan.times.after(self.clock()) if plan else None,
            timeout_s=self.settings.of(name, "timeout_s"),
            last=last,
        )

    def _require(self, name: str) -> None:
        if name not in self.settings.names():
            known = ", ".join(sorted(self.settings.names()))
            raise NotFoundError(f"there is no job {name}", suggestion=f"the jobs are {known}")


def _no_run(id_: int) -> NotFoundError:
    return NotFoundError(f"there is no run {id_}", suggestion="`recall jobs list` shows the runs with their ids")
