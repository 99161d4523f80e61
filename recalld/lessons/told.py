"""What was told in which session, so that one who has just been reminded is not reminded of the same again.

An agent that is told to check something mostly does what is asked for next, in words that fire the same guardrail.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field

MOST = 10_000
"""Tellings that are remembered; the oldest are forgotten first."""


@dataclass(slots=True)
class Told:
    """Remembers for ``again_s`` seconds what was told; in memory, so that a restart tells it once more."""

    again_s: float
    _at: OrderedDict[Hashable, float] = field(default_factory=OrderedDict, init=False)

    def lately(self, what: Hashable, now_s: float) -> bool:
        """Tell whether ``what`` was told within the time. ``now_s`` is a monotonic clock."""
        at = self._at.get(what)
        return at is not None and now_s - at < self.again_s

    def note(self, what: Hashable, now_s: float) -> None:
        """Remember that ``what`` is told now."""
        self._at[what] = now_s
        self._at.move_to_end(what)
        if len(self._at) > MOST:
            self._at.popitem(last=False)
