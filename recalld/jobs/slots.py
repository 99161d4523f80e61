"""When a job is due: slots, the planned times that all nodes agree on, from a crontab or an interval. Pure.

A slot is told by its planned time, never by the moment at which a node came to it: an interval's slots are counted from
1970, a crontab's are in UTC. Jitter only delays the asking.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Protocol

from apscheduler.triggers.cron import CronTrigger

from recalld.errors import ConfigError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_INTERVAL = re.compile(r"(?:every\s+)?(\d{1,9})\s*([smhdw])", re.IGNORECASE)
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NUMBERED = re.compile(r"(\*|\d(?:-\d)?)(?:/(\d+))?")
_FARTHEST = timedelta(days=8 * 366)
"""How far back a crontab is looked through for its last time: the 29th of February can be 8 years away."""
_HOW = "give a crontab as '30 3 * * *' (minute, hour, day, month, weekday; UTC), an interval as 'every 6h', or nothing"


class Times(Protocol):
    """Planned times."""

    def after(self, moment: datetime) -> datetime | None:
        """Return the first planned time after a moment; None where there is none any more."""
        ...

    def until(self, moment: datetime) -> datetime | None:
        """Return the last planned time that is not after a moment; None where there was none."""
        ...


@dataclass(frozen=True, slots=True)
class Interval:
    """Every so often, counted from 1970."""

    period: timedelta

    def after(self, moment: datetime) -> datetime:
        """Return the first planned time after a moment."""
        return self.until(moment) + self.period

    def until(self, moment: datetime) -> datetime:
        """Return the last planned time that is not after a moment."""
        return _EPOCH + (moment - _EPOCH) // self.period * self.period


@dataclass(frozen=True, slots=True)
class Cron:
    """The times of a crontab, in UTC."""

    trigger: CronTrigger

    def after(self, moment: datetime) -> datetime | None:
        """Return the first planned time after a moment."""
        return self._from(moment + timedelta(microseconds=1))

    def until(self, moment: datetime) -> datetime | None:
        """Return the last planned time that is not after a moment; None when that is years away."""
        low, high = timedelta(0), timedelta(minutes=1)
        while (found := self._from(moment - high)) is None or found > moment:
            low, high = high, high * 2
            if low > _FARTHEST:
                return None
        while high - low > timedelta(seconds=30):
            middle = (low + high) / 2
            later = self._from(moment - middle)
            if later is None or later > moment:
                low = middle
            else:
                high, found = middle, later
        return self._last(found, moment)

    def _last(self, found: datetime, moment: datetime) -> datetime:
        while (later := self.after(found)) is not None and later <= moment:
            found = later
        return found

    def _from(self, moment: datetime) -> datetime | None:
        found: datetime | None = self.trigger.get_next_fire_time(None, moment)
        return found.astimezone(UTC) if found else None


@dataclass(frozen=True, slots=True)
class Plan:
    """When one job is asked for: its planned times, up to ``jitter`` later, and never more than ``grace`` later."""

    name: str
    times: Times
    jitter: timedelta
    grace: timedelta

    def due(self, slot: datetime, node: str) -> datetime:
        """Return when a node asks for a slot: as late as jitter and the next slot allow, by lot, always the same."""
        following = self.times.after(slot)
        room = self.jitter if following is None else min(self.jitter, (following - slot) / 2)
        return slot + room * _lot(f"{node} {self.name} {slot.isoformat()}")

    def next_due(self, moment: datetime, node: str) -> tuple[datetime, datetime] | None:
        """Return the first slot that is due after a moment, and when."""
        slot = self.times.until(moment) or self.times.after(moment)
        while slot is not None:
            due = self.due(slot, node)
            if due > moment:
                return slot, due
            slot = self.times.after(slot)
        return None

    def last_due(self, moment: datetime, node: str) -> datetime | None:
        """Return the newest slot that is due by a moment."""
        slot = self.times.until(moment)
        while slot is not None and self.due(slot, node) > moment:
            slot = self.times.until(slot - timedelta(microseconds=1))
        return slot

    def between(self, first: datetime, last: datetime) -> Iterator[datetime]:
        """Yield the slots after ``first`` and before ``last``."""
        slot = self.times.after(first)
        while slot is not None and slot < last:
            yield slot
            slot = self.times.after(slot)


def slot_name(slot: datetime) -> str:
    """Return a slot as it is written everywhere: ``20261130T033000Z``."""
    return slot.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")


def times_of(key: str, when: str) -> Times | None:
    """Read a crontab or an interval; None for an empty one. ``key`` is the setting that errors name.

    Raises ConfigError.
    """
    text = when.strip()
    if not text:
        return None
    if match := _INTERVAL.fullmatch(text):
        return _interval(key, text, int(match[1]) * _SECONDS[match[2].lower()])
    fields = text.split()
    if len(fields) != 5:
        raise ConfigError(f"{key} {when!r} is neither a crontab nor an interval", suggestion=_HOW)
    try:
        minute, hour, day, month, weekday = fields
        trigger = CronTrigger(
            minute=minute, hour=hour, day=day, month=month, day_of_week=_weekdays(weekday), timezone="UTC"
        )
    except (ValueError, IndexError) as error:
        raise ConfigError(f"{key} {when!r} is not a crontab: {error}", suggestion=_HOW) from None
    if trigger.get_next_fire_time(None, _EPOCH) is None:
        raise ConfigError(f"{key} {when!r} names a time that never comes", suggestion=_HOW)
    return Cron(trigger)


def _interval(key: str, text: str, seconds: int) -> Interval:
    if not 1 <= seconds <= _FARTHEST.total_seconds():
        raise ConfigError(f"{key} {text!r} is no interval to run a job in", suggestion=_HOW)
    return Interval(timedelta(seconds=seconds))


def _weekdays(field: str) -> str:
    """Return a crontab's weekdays by name: APScheduler counts them from Monday, crontabs from Sunday."""
    return ",".join(_weekday(part) for part in field.split(","))


def _weekday(part: str) -> str:
    match = _NUMBERED.fullmatch(part)
    if match is None or part == "*":
        return part
    first, _, last = ("0-6" if match[1] == "*" else match[1]).partition("-")
    step = int(match[2] or 1)
    end = int(last or (6 if match[2] else first))
    if step < 1 or not 0 <= int(first) <= end <= 7:
        raise ValueError(f"{part!r} is no weekday")
    return ",".join(_WEEKDAYS[number % 7] for number in range(int(first), end + 1, step))


def _lot(text: str) -> float:
    """Return a number from 0 up to 1 that is always the same for a text, and looks like chance."""
    return int.from_bytes(blake2b(text.encode(), digest_size=6).digest(), "big") / (1 << 48)
