"""Moments as people write them."""

from __future__ import annotations

from datetime import datetime

from recalld.cli.times import moment as parsed


def moment(text: str, now: datetime) -> datetime | None:
    """Return the moment that a text means, the end of a day where it names one; None for an empty text.

    Raises UsageError.
    """
    return parsed(text.strip(), now, end_of_day=True) if text.strip() else None
