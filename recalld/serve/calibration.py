"""The verb ``calibrate``, and the calibration that searches are judged by."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field

from recalld.bus import wire
from recalld.errors import CalibrationRefused, UsageError
from recalld.jobs.calibration import Calibrator
from recalld.model import Generation
from recalld.store import Store
from recalld.trust.confidence import Calibration
from recalld.trust.probes import Origin, Probe

log = logging.getLogger(__name__)

KNOWN_FOR_S = 1.0
"""How long a search goes by what was read before (seconds)."""


@dataclass(slots=True)
class CalibrationVerbs:
    """Has the calibrator fit on request."""

    calibrator: Calibrator

    async def calibrate(self, agent: str, request: wire.CalibrateRequest) -> wire.CalibrateReply:
        """Fit and report. Raises CalibrationRefused, BusyError, WarmingError."""
        labels = _distinct(request.labels)
        calibration = await self.calibrator.calibrate(labels, dry_run=request.dry_run)
        return wire.CalibrateReply(
            generation=calibration.generation,
            source=calibration.source,
            fitted_at=calibration.fitted_at,
            documents=calibration.documents,
            kept=not request.dry_run,
            models=tuple(
                wire.ModelReport(kind=kind, **asdict(model.report)) for kind, model in calibration.models.items()
            ),
            suspects=tuple(wire.SuspectView.model_validate(suspect) for suspect in calibration.suspects),
        )


def _distinct(labels: Sequence[wire.Label]) -> list[Probe]:
    """Return each question once, for one that is repeated proves nothing more. Raises UsageError for two answers."""
    found: dict[str, Probe] = {}
    for label in labels:
        probe = Probe(label.query, label.answerable, Origin.LABEL)
        known = found.setdefault(" ".join(label.query.casefold().split()), probe)
        if known.answerable is not probe.answerable:
            raise UsageError(f"{label.query!r} is labelled both answerable and not", suggestion="decide on one")
    return list(found.values())


@dataclass(slots=True)
class Standing:
    """Gives the calibration of a generation, read at most once a second however many searches come."""

    store: Store
    monotonic: Callable[[], float] = time.monotonic
    _known: dict[int, tuple[float, Calibration | None]] = field(default_factory=dict, init=False)

    async def __call__(self, generation: Generation) -> Calibration | None:
        """Return what stands; None where nothing is calibrated or what is stored may not be believed.

        Raises DependencyError when the store cannot be read, which is not the same as being uncalibrated.
        """
        until, calibration = self._known.get(generation.id, (0.0, None))
        if self.monotonic() >= until:
            calibration = await self._read(generation)
            self._known = {generation.id: (self.monotonic() + KNOWN_FOR_S, calibration)}
        return calibration

    async def _read(self, generation: Generation) -> Calibration | None:
        row = await self.store.calibrations.newest(generation.id)
        if row is None:
            return None
        try:
            return Calibration.from_json(row.model, generation.fingerprint)
        except CalibrationRefused as error:
            log.warning("searches of generation %d go uncalibrated: %s", generation.id, error.message)
            return None
