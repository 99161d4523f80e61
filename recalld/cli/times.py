"""Moments as people write them on a command line."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta

from recalld.errors import UsageError

_AGO = re.compile(r"(\d+)\s*(m|h|d|w)")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def moment(text: str, now: datetime, *, end_of_day: bool = False) -> datetime:
    """Read ``2026-06-30``, ``2026-06-30T14:00``, with or without a zone (UTC), or an age as ``3d``.

    A bare date is its first moment, or its last with ``end_of_day``: dates are inclusive. Raises UsageError.
    """
    ago = _AGO.fullmatch(text.strip())
    try:
        if ago:
            return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        found = datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError):
        raise UsageError(
            f"{text!r} is not a moment in time", suggestion="write 2026-06-30, 2026-06-30T14:00+02:00, or 3d (ago)"
        ) from None
    if end_of_day and len(text.strip()) <= len("2026-06-30"):
        found = datetime.combine(found.date(), time.max)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
