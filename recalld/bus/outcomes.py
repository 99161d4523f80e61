"""The one table that turns how an ingest message fared into what the queue is told.

| raised | attempt | told |
|---|---|---|
| nothing | | ack, after the commit |
| Rejected, UsageError, TooLargeError | | set aside at once |
| DependencyError, OSError, TimeoutError | | kept: the worker tries again itself, at no attempt's cost |
| anything else (RetryLater, ...) | below the last | negative ack with a delay |
| anything else | the last | set aside |

Set aside means: recorded as failed with a finding that names the file, a copy to the dead letters, then terminated.
A message that is delivered once more than allowed was the end of every worker that had it: it is set aside unseen.
"""

from __future__ import annotations

from dataclasses import dataclass

from recalld.errors import DependencyError, Rejected, RetryLater, TooLargeError, UsageError

FIRST_DELAY_S = 1.0
LONGEST_DELAY_S = 60.0


@dataclass(frozen=True, slots=True)
class Ack:
    """Done: take it out of the queue."""


@dataclass(frozen=True, slots=True)
class Again:
    """Deliver it again, to any worker, in ``delay`` seconds."""

    delay: float


@dataclass(frozen=True, slots=True)
class Keep:
    """Something that everything depends on is out of order: hold it and try again when that is back."""


@dataclass(frozen=True, slots=True)
class SetAside:
    """It will not work out: tell the people, keep a copy, and go on without it."""


Outcome = Ack | Again | Keep | SetAside


def decide(error: BaseException | None, *, attempt: int, max_attempts: int) -> Outcome:
    """Return what to do with a message that ended with ``error`` on its ``attempt``-th try (1 is the first)."""
    if error is None:
        return Ack()
    if isinstance(error, (Rejected, UsageError, TooLargeError)):
        return SetAside()
    if isinstance(error, (DependencyError, OSError)):
        return Keep()
    if attempt >= max_attempts:
        return SetAside()
    if isinstance(error, RetryLater) and error.after is not None:
        return Again(error.after)
    return Again(min(FIRST_DELAY_S * 2 ** (attempt - 1), LONGEST_DELAY_S))
