"""The calibration that searches go by: the newest of the serving generation, read again at most once a second."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from recalld.errors import CalibrationRefused
from recalld.model import Generation
from recalld.recall.answer import Confidences
from recalld.store import Store
from recalld.trust.confidence import Calibration, confidences

log = logging.getLogger(__name__)

KNOWN_FOR_S = 1.0


@dataclass(slots=True)
class Confidence:
    """Gives each generation's searches what makes confidences of their scores."""

    store: Store
    monotonic: Callable[[], float] = time.monotonic
    _row: tuple[int, int] | None = field(default=None, init=False)
    """The generation and the row of what is known."""
    _calibration: Calibration | None = field(default=None, init=False)
    _until: float = field(default=0.0, init=False)

    async def of(self, generation: Generation) -> Confidences:
        """Return the confidences of a generation; they are None while nothing is calibrated for it."""
        known = self._row is not None and self._row[0] == generation.id
        if not known or self.monotonic() >= self._until:
            await self._refresh(generation)
        return partial(confidences, self._calibration)

    async def _refresh(self, generation: Generation) -> None:
        newest = await self.store.calibrations.newest_id(generation.id)
        row = (generation.id, newest or 0)
        if row != self._row:
            self._calibration = await self._read(generation) if newest else None
            self._row = row
        self._until = self.monotonic() + KNOWN_FOR_S

    async def _read(self, generation: Generation) -> Calibration | None:
        found = await self.store.calibrations.newest(generation.id)
        try:
            return Calibration.from_json(found.model, generation.fingerprint) if found else None
        except CalibrationRefused as error:
            log.warning("nothing is vouched for: %s", error.message)
            return None
