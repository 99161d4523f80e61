"""What the dashboard knows of the daemon, whatever screen is looked at."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime

from recalld.bus import wire
from recalld_tui.model.health import Diagnosis, away, diagnose
from recalld_tui.model.rates import Counters, Meter, Pace

LOOKS = 60


@dataclass(slots=True)
class Status:
    """The newest replies, and what was counted meanwhile. ``refused`` says why search rates are not known."""

    diagnosis: Diagnosis = field(default_factory=lambda: away("looking for the daemon"))
    health: wire.HealthReply | None = None
    stats: wire.StatsReply | None = None
    jobs: wire.JobsReply | None = None
    services: tuple[wire.ServiceView, ...] = ()
    refused: str = ""
    pace: Pace | None = None
    indexed: Meter = field(default_factory=Meter)
    searches: Counters = field(default_factory=Counters)
    waiting: deque[int] = field(default_factory=lambda: deque(maxlen=LOOKS))

    def told(self, health: wire.HealthReply, stats: wire.StatsReply, jobs: wire.JobsReply, now: datetime) -> Diagnosis:
        """Take what the daemon says of itself."""
        self.health, self.stats, self.jobs = health, stats, jobs
        self.waiting.append(stats.freshness.pending)
        self.diagnosis = diagnose(health, stats, jobs, now)
        return self.diagnosis

    def served(self, services: tuple[wire.ServiceView, ...], at: float) -> None:
        """Take what the serving nodes have counted; ``at`` is of a monotonic clock."""
        self.services = services
        self.pace = self.searches.look(services, at)

    def happened(self, event: wire.Event, at: float) -> None:
        """Take an event; ``at`` is of a monotonic clock."""
        if event.topic == "indexed":
            lag = event.data.get("lag_s")
            self.indexed.add(at, float(lag) if isinstance(lag, int | float) else 0.0)
