"""Rates: what was counted in each of the last seconds, and counters that only grow turned into rates."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from recalld.bus import wire


@dataclass(slots=True)
class Meter:
    """Sums in the last ``kept`` slices of ``slice_s`` seconds each; times are of one monotonic clock, in seconds."""

    slice_s: float = 2.0
    kept: int = 60
    _slices: dict[int, tuple[int, float, float]] = field(default_factory=dict)

    def add(self, at: float, value: float = 0.0) -> None:
        """Count one thing at a time, with a value of its own."""
        number = int(at // self.slice_s)
        count, total, top = self._slices.get(number, (0, 0.0, 0.0))
        self._slices[number] = (count + 1, total + value, max(top, value))
        if len(self._slices) > 2 * self.kept:
            self._slices = {key: kept for key, kept in self._slices.items() if key > number - self.kept}

    def rates(self, now: float) -> list[float]:
        """Return things a second in each slice, oldest first; the one that is not over yet is left out."""
        return [self._slice(number)[0] / self.slice_s for number in self._numbers(now)]

    def tops(self, now: float) -> list[float]:
        """Return the greatest value in each slice."""
        return [self._slice(number)[2] for number in self._numbers(now)]

    def _numbers(self, now: float) -> range:
        last = int(now // self.slice_s)
        return range(last - self.kept, last)

    def _slice(self, number: int) -> tuple[int, float, float]:
        return self._slices.get(number, (0, 0.0, 0.0))


@dataclass(frozen=True, slots=True)
class Pace:
    """What a verb did between two looks: requests and errors a second, and milliseconds a request."""

    rate: float
    errors: float
    latency_ms: float | None


@dataclass(slots=True)
class Counters:
    """Turns what services have counted since they started into paces; a counter that shrank began anew."""

    verb: str = "search"
    rates: deque[float] = field(default_factory=lambda: deque(maxlen=60))
    latencies: deque[float] = field(default_factory=lambda: deque(maxlen=60))
    _before: Mapping[str, wire.VerbView] = field(default_factory=dict)
    _at: float | None = None

    def look(self, services: tuple[wire.ServiceView, ...], at: float) -> Pace | None:
        """Return the pace since the look before; None at the first."""
        now = {view.node: view.verbs[self.verb] for view in services if self.verb in view.verbs}
        before, begun = self._before, self._at
        self._before, self._at = now, at
        if begun is None or at <= begun:
            return None
        requests = errors = 0
        busy_ms = 0.0
        for node, verb in now.items():
            known = before.get(node)
            fresh = known is None or verb.requests < known.requests
            requests += verb.requests - (0 if fresh or known is None else known.requests)
            errors += verb.errors - (0 if fresh or known is None else known.errors)
            busy_ms += verb.busy_ms - (0.0 if fresh or known is None else known.busy_ms)
        pace = Pace(requests / (at - begun), errors / (at - begun), busy_ms / requests if requests else None)
        self.rates.append(pace.rate)
        self.latencies.append(pace.latency_ms or 0.0)
        return pace
