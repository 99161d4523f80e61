"""The clock: at each slot of each job it asks for the job on the bus, and does nothing else.

Every scheduling node ticks; none is elected. The slot's planned time is the message's id and its subject, so that of
all who ask for a slot the bus keeps one request, and the row of the slot in Postgres, which ends once, sees to it that
a request which comes twice all the same is not run twice. So a scheduling node needs no database and may die at any
time: another one, or itself after its start, asks for the newest slot again.

A slot is asked for up to the grace after its time: the node slept, had no bus, or was only just started. Of several
that were missed the newest is asked for, and how many were left out is told.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import anyio
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger

from recalld.errors import RecalldError
from recalld.jobs.slots import Plan, slot_name

log = logging.getLogger(__name__)

Publish = Callable[[str, str], Awaitable[None]]
"""Asks for a job: its name, and the slot that the request stands for. Raises RecalldError while it cannot."""
Announce = Callable[[str, Mapping[str, Any]], Awaitable[None]]

RETRY_S = 2.0
"""How soon a request that the bus did not take is made again (seconds)."""
LOOK_S = 30.0
"""How often the clock is looked at: a timer sleeps with the machine, and rings too late (seconds)."""
_DEFAULTS = {"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
"""What is too late is for :class:`Schedule` to say, which knows the slot."""


@dataclass
class Schedule:
    """Asks for each job of ``plans`` at its slots, for as long as it runs."""

    plans: Sequence[Plan]
    publish: Publish
    announce: Announce
    node: str
    clock: Callable[[], datetime]
    _waiting: dict[str, datetime] = field(default_factory=dict, init=False)
    """Slots that are due and not asked for yet, by job."""
    _asked: dict[str, datetime] = field(default_factory=dict, init=False)
    """The newest slot that was asked for, by job."""
    _wake: anyio.Event = field(default_factory=anyio.Event, init=False)

    async def run(self, stop: anyio.Event) -> None:
        """Tick until ``stop`` is set."""
        scheduler = AsyncIOScheduler(timezone="UTC", job_defaults=_DEFAULTS)
        for plan in self.plans:
            scheduler.add_job(self._tick, _Trigger(plan, self.node), args=[plan], id=plan.name, name=plan.name)
            await self._tick(plan)
        scheduler.start()
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._work)
                group.start_soon(self._look)
                await stop.wait()
                group.cancel_scope.cancel()
        finally:
            scheduler.shutdown(wait=False)

    async def _tick(self, plan: Plan) -> None:
        """Note the newest slot that is due."""
        slot = plan.last_due(self.clock(), self.node)
        if slot is not None and slot != self._asked.get(plan.name):
            self._waiting[plan.name] = slot
            self._wake.set()

    async def _look(self) -> None:
        while True:
            await anyio.sleep(LOOK_S)
            for plan in self.plans:
                await self._tick(plan)

    async def _work(self) -> None:
        """Ask for what waits; what cannot be asked for now, a little later."""
        while True:
            self._wake = anyio.Event()
            for plan in self.plans:
                if plan.name in self._waiting:
                    await self._ask(plan, self._waiting[plan.name])
            with anyio.move_on_after(RETRY_S if self._waiting else None):
                await self._wake.wait()

    async def _ask(self, plan: Plan, slot: datetime) -> None:
        if self.clock() - plan.due(slot, self.node) > plan.grace:
            await self._missed(plan, slot, slot)
        else:
            try:
                await self.publish(plan.name, slot_name(slot))
            except RecalldError as error:
                log.warning("job %s cannot be asked for yet: %s", plan.name, error.message)
                return
            await self._missed(plan, slot, None)
        self._asked[plan.name] = slot
        if self._waiting.get(plan.name) == slot:
            del self._waiting[plan.name]

    async def _missed(self, plan: Plan, slot: datetime, too_late: datetime | None) -> None:
        """Tell which slots since the last one that was asked for will not be run; at the start nothing is known."""
        before = self._asked.get(plan.name)
        left_out = [] if before is None else list(plan.between(before, slot))
        if before is not None and too_late is not None:
            left_out.append(too_late)
        if left_out:
            log.warning("job %s: %d slots were missed, the last %s", plan.name, len(left_out), left_out[-1])
            facts = {"name": plan.name, "slots": len(left_out), "last": slot_name(left_out[-1])}
            await self.announce("job.missed", facts)


class _Trigger(BaseTrigger):  # type: ignore[misc]
    """APScheduler's view of a plan: when this node asks for the next slot."""

    def __init__(self, plan: Plan, node: str) -> None:
        self._plan = plan
        self._node = node

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime | None:
        found = self._plan.next_due(max(previous_fire_time or now, now - timedelta(seconds=1)), self._node)
        return found[1] if found else None
