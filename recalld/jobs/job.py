"""What a job is: a name, and something that is called with a way to tell how far it is.

A job may begin more than once in a slot: a node that dies in the middle is followed by another one. So it must be
idempotent, or find out by itself what it did before. It must bear to be cancelled wherever it waits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from recalld.jobs.slots import Plan, times_of
from recalld.settings import ScheduleSettings


class Progress(Protocol):
    """Takes how far a job is; never waits."""

    def __call__(self, done: int, total: int, words: str) -> None:
        """Note that so many of so many steps are done (0 of 0: that cannot be said), and what comes."""
        ...


Runner = Callable[[Progress], Awaitable[Mapping[str, Any]]]
"""Does a job; returns what came of it, as plain values."""


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A job that was asked for: in which slot, and by whom (a node's schedule, or an agent)."""

    name: str
    slot: str
    requested_by: str


def plans(settings: ScheduleSettings) -> list[Plan]:
    """Return the plans of the jobs that run by the clock. Raises ConfigError for a time that cannot be read."""
    found = []
    for name, when in settings.when().items():
        times = times_of(f"schedule.{name.replace('-', '_')}", when)
        if times is not None:
            jitter, grace = (timedelta(seconds=settings.of(name, key)) for key in ("jitter_s", "misfire_grace_s"))
            found.append(Plan(name, times, jitter, grace))
    return found
