"""The clock: at each slot of a crontab it asks for a job on the bus, and does nothing else.

Every scheduling node ticks; the slot is part of the message's id, so that the bus keeps one request of many.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime

import anyio
from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_MISSED, JobExecutionEvent
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.cron import CronTrigger

from recalld.errors import ConfigError

log = logging.getLogger(__name__)

Publish = Callable[[str, str], Awaitable[None]]
"""Asks for a job: its name, and the slot that the request stands for."""

_DEFAULTS = {"coalesce": True, "max_instances": 1, "misfire_grace_time": 300}


class Schedule:
    """Asks for each job of ``crontabs`` (name to crontab, UTC; an empty crontab never runs)."""

    def __init__(self, crontabs: Mapping[str, str], publish: Publish, clock: Callable[[], datetime]) -> None:
        """Raise ConfigError for a crontab that cannot be read."""
        self._publish = publish
        self._clock = clock
        self._triggers = {name: _trigger(name, crontab) for name, crontab in crontabs.items() if crontab}

    async def run(self, stop: anyio.Event) -> None:
        """Tick until ``stop`` is set."""
        scheduler = AsyncIOScheduler(timezone="UTC", job_defaults=_DEFAULTS)
        scheduler.add_listener(_report, EVENT_JOB_ERROR | EVENT_JOB_MISSED)
        for name, trigger in self._triggers.items():
            scheduler.add_job(self.tick, trigger, args=[name], id=name, name=name)
        scheduler.start()
        try:
            await stop.wait()
        finally:
            scheduler.shutdown(wait=False)

    async def tick(self, name: str) -> None:
        """Ask for a job now, in the slot of this minute."""
        await self._publish(name, self._clock().strftime("%Y-%m-%dT%H:%MZ"))


def _trigger(name: str, crontab: str) -> CronTrigger:
    try:
        return CronTrigger.from_crontab(crontab, timezone="UTC")
    except ValueError as error:
        raise ConfigError(
            f"schedule.{name} {crontab!r} is not a crontab: {error}",
            suggestion="give minute, hour, day, month and weekday (names as sun), as in '30 3 * * *'",
        ) from None


def _report(event: JobExecutionEvent) -> None:
    what = "was missed" if event.code == EVENT_JOB_MISSED else f"could not be asked for: {event.exception}"
    log.warning("scheduled job %s %s", event.job_id, what)
