"""The verbs ``stats`` and ``health``: what is indexed, and whether this node can answer."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import anyio
import psutil

from recalld import __version__
from recalld.bus import wire
from recalld.errors import RecalldError
from recalld.model import State
from recalld.store import Store

Probe = Callable[[], Awaitable[wire.Check]]
PROBE_TIMEOUT_S = 2.0
FRESHNESS_FOR_S = 0.5


@dataclass(slots=True)
class Freshness:
    """How far the index is behind, asked at most twice a second however many searches come."""

    store: Store
    pending: Callable[[], Awaitable[int]]
    clock: Callable[[], datetime]
    stale_after: timedelta
    monotonic: Callable[[], float] = time.monotonic
    _known: wire.Freshness | None = None
    _until: float = 0.0

    async def __call__(self) -> wire.Freshness:
        """Return the newest known state."""
        if self._known is None or self.monotonic() >= self._until:
            self._known = await self._ask()
            self._until = self.monotonic() + FRESHNESS_FOR_S
        return self._known

    async def _ask(self) -> wire.Freshness:
        totals = await self.store.stats.totals()
        return wire.Freshness(
            newest_indexed_at=totals.newest_indexed_at,
            pending=await self.pending(),
            failed=totals.failed,
            stale=totals.stale,
            aged=self._aged(totals.newest_indexed_at),
        )

    def _aged(self, newest: datetime | None) -> bool:
        return bool(self.stale_after) and (newest is None or self.clock() - newest > self.stale_after)


@dataclass(slots=True)
class StatusVerbs:
    """Counts the index and probes what this node depends on."""

    store: Store
    freshness: Freshness
    probes: Sequence[Probe]
    node: str
    roles: tuple[str, ...]
    started_at: datetime

    async def stats(self, agent: str, request: wire.StatsRequest) -> wire.StatsReply:
        """Return repos, generations, freshness and the newest findings."""
        return wire.StatsReply(
            repos=tuple(await self._repos(request.repo)),
            generations=tuple(
                wire.GenerationStats(
                    id=row.id,
                    fingerprint=row.fingerprint,
                    embedder=row.embedder,
                    state=row.state,
                    documents=row.documents,
                    total=row.total,
                )
                for row in await self.store.stats.generations()
            ),
            freshness=await self.freshness(),
            findings=tuple(
                wire.FindingView.model_validate(finding)
                for finding in await self.store.findings.list(repo=request.repo, limit=request.findings)
            ),
            database_bytes=await self.store.stats.database_bytes(),
            cached_embeddings=await self.store.cache.count(),
            calibration=await self._calibration(),
        )

    async def _calibration(self) -> wire.CalibrationView | None:
        generation = await self.store.generations.serving()
        row = await self.store.calibrations.newest(generation.id) if generation else None
        return wire.CalibrationView.model_validate(row) if row else None

    async def _repos(self, name: str | None) -> list[wire.RepoStats]:
        return [
            wire.RepoStats(
                name=row.name,
                path=row.path,
                node=row.node,
                state=row.state or "unknown",
                documents=row.documents,
                chunks=row.chunks,
                skipped=row.skipped,
                failed=row.failed,
                forgotten=row.forgotten,
                newest_indexed_at=row.newest_indexed_at,
                indexed_commit=row.commit,
                last_scan_at=row.scanned_at,
            )
            for row in await self.store.stats.repos(name)
        ]

    async def health(self, agent: str, request: wire.HealthRequest) -> wire.HealthReply:
        """Probe every dependency; the worst of them is the node's state."""
        checks = [await _probed(probe) for probe in self.probes]
        return wire.HealthReply(
            state=_worst(checks),
            node=self.node,
            version=__version__,
            roles=self.roles,
            started_at=self.started_at,
            rss_bytes=psutil.Process().memory_info().rss,
            checks=tuple(checks),
        )


async def _probed(probe: Probe) -> wire.Check:
    begun = time.perf_counter()
    try:
        with anyio.fail_after(PROBE_TIMEOUT_S):
            check = await probe()
    except TimeoutError:
        check = wire.Check(name=_name(probe), status="failed", detail=f"no answer within {PROBE_TIMEOUT_S:g} s")
    except RecalldError as error:
        check = wire.Check(name=_name(probe), status="failed", detail=error.message, suggestion=error.suggestion)
    return check.model_copy(update={"took_ms": (time.perf_counter() - begun) * 1e3})


def _name(probe: Probe) -> str:
    return getattr(probe, "__name__", type(probe).__name__)


def _worst(checks: Sequence[wire.Check]) -> State:
    statuses = {check.status for check in checks}
    if statuses & {"failed", "degraded"}:
        return State.DEGRADED
    return State.WARMING if "warming" in statuses else State.READY
