"""What a document says of its own standing: its status in five kinds, and the window in which it is valid."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """What a status amounts to.

    ``unadopted`` was never in force (proposed, rejected, withdrawn): it is a true record of a proposal, and replaces
    nothing. ``retired`` was in force and is no longer, with nothing named in its place.
    """

    NONE = "none"
    ADOPTED = "adopted"
    UNADOPTED = "unadopted"
    RETIRED = "retired"
    SUPERSEDED = "superseded"


_WORDS = {
    Status.SUPERSEDED: "superseded superceded replaced obsoleted reemplazado reemplazada sustituido sustituida",
    Status.RETIRED: "deprecated obsolete retired archived revoked rescinded sunset discontinued obsoleto obsoleta",
    Status.UNADOPTED: (
        "proposed proposal draft rejected withdrawn declined abandoned cancelled canceled deferred pending provisional "
        "wip rfc open propuesto propuesta borrador rechazado rechazada"
    ),
    Status.ADOPTED: (
        "accepted active final approved adopted implemented decided current valid done agreed ratified stable "
        "aceptado aceptada vigente aprobado aprobada"
    ),
}
_KINDS = {word: status for status, words in _WORDS.items() for word in words.split()}
_PARTLY = re.compile(r"(?i)^\W*(?:partial(?:ly)?|partly|in part)\b")
_FIRST_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Standing:
    """A document's status as written and in kind, and its window (both ends inclusive, None where open).

    ``problem`` says why the window cannot be judged; empty where it can.
    """

    status: Status = Status.NONE
    written: str = ""
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    problem: str = ""


def standing_of(metadata: Mapping[str, Any]) -> Standing:
    """Read the standing from a document's metadata, where the parser brought dates into ISO form."""
    written = metadata.get("status")
    words = written if isinstance(written, str) else ""
    try:
        start = _moment(metadata.get("valid_from"), "valid_from", time.min)
        end = _moment(metadata.get("valid_until"), "valid_until", time.max)
    except ValueError as error:
        return Standing(kind_of_status(words), words, problem=str(error))
    problem = (
        f"it is valid until {end:%Y-%m-%d} but only from {start:%Y-%m-%d}" if start and end and start > end else ""
    )
    return Standing(kind_of_status(words), words, start, end, problem)


def kind_of_status(written: str) -> Status:
    """Return what a status as written amounts to: ``Superseded by ADR-12``, ``Deprecated (2024)``, ``Accepted``."""
    if _PARTLY.match(written):
        return Status.ADOPTED
    first = _FIRST_WORD.search(written)
    return _KINDS.get(first.group().casefold(), Status.NONE) if first else Status.NONE


def _moment(value: Any, key: str, of_day: time) -> datetime | None:
    """Return a date's first or last moment, or the time itself. Raises ValueError for what is no date."""
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise ValueError(f"{key} {value!r} is no date")
    try:
        if len(value) == len("2026-01-01"):
            return datetime.combine(date.fromisoformat(value), of_day, UTC)
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise ValueError(f"{key} {value[:40]!r} is no date") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
