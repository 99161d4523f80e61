"""The job ``calibrate-drift``: ask probe questions again, and see whether the memory still knows how sure it may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recalld.jobs.calibration import Calibrator
from recalld.jobs.job import Progress


@dataclass(frozen=True, slots=True)
class CalibrateDrift:
    """Looks now, whether the corpus has moved or not; what has aged is fitted anew unless calibration is off."""

    calibrator: Calibrator

    async def __call__(self, progress: Progress) -> Mapping[str, Any]:
        """Return what was done and why, and the share of the worse class that is misjudged, where it was measured."""
        progress(0, 0, "asking probe questions")
        outcome = await self.calibrator.look()
        found: dict[str, Any] = {"step": str(outcome.step)}
        if outcome.reason:
            found["reason"] = outcome.reason
        if outcome.class_error is not None:
            found["class_error"] = round(outcome.class_error, 4)
        return found
