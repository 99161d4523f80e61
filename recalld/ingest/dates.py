"""Dates as authors write them, to ISO 8601."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_STAMP = re.compile(
    r"(\d{4}-\d{1,2}-\d{1,2})(?:[Tt]|\s+)(\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)\s*(Z|z|[+-]\d{1,2}(?::?\d{2})?)?"
)
_LIKE_A_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}(?:[Tt\s].*)?")
_PLACEHOLDER = re.compile(r"(?i)y{2,4}[-/.]m{1,2}[-/.]d{1,2}.*|tbd|tba|todo|<[^>]*>|\{\{.*\}\}")


def iso(text: str) -> str | None:
    """Return ``2026-05-01`` for a day, ``2026-05-01T10:00:00+00:00`` for a time (UTC where no zone is given).

    None for anything else: there is no guessing at ``05/01/2026``, a quarter, or seconds since 1970.
    """
    text = text.strip()
    try:
        if match := _DATE.fullmatch(text):
            return date(*map(int, match.groups())).isoformat()
        if match := _STAMP.fullmatch(text):
            return _stamp(*match.groups())
    except ValueError:
        return None
    return None


def looks_like_date(text: str) -> bool:
    """Tell whether a text has a date's form, whether or not there is such a day."""
    return _LIKE_A_DATE.fullmatch(text.strip()) is not None


def is_placeholder(text: str) -> bool:
    """Tell whether a text is what a template has where a date goes."""
    return _PLACEHOLDER.fullmatch(text.strip()) is not None


def _stamp(day: str, clock: str, zone: str | None) -> str:
    day = date(*map(int, day.split("-"))).isoformat()
    clock = clock if clock.index(":") == 2 else f"0{clock}"
    moment = datetime.fromisoformat(f"{day}T{clock}{_zone(zone)}")
    return moment.isoformat() if moment.tzinfo else moment.replace(tzinfo=UTC).isoformat()


def _zone(zone: str | None) -> str:
    if not zone:
        return ""
    if zone in "Zz":
        return "+00:00"
    hours, _, minutes = zone[1:].partition(":")
    if len(hours) > 2:
        hours, minutes = hours[:-2], hours[-2:]
    return f"{zone[0]}{hours:0>2}:{minutes or '00'}"
