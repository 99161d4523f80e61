"""The verb ``calibrate.episodes``: how sure it may be that an earlier answer fits a question, learned from pairs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from datetime import datetime

from recalld.bus import wire
from recalld.embed.protocol import Embedder
from recalld.episodes.fit import Pair, fit, judged, shipped_pairs
from recalld.store import Store


@dataclass(frozen=True, slots=True)
class EpisodeCalibrationVerb:
    """Fits with the embedder that questions are compared by."""

    store: Store
    embedder: Callable[[], Awaitable[Embedder]]
    clock: Callable[[], datetime]

    async def __call__(self, agent: str, request: wire.CalibrateEpisodesRequest) -> wire.CalibrateEpisodesReply:
        """Fit and report. Raises CalibrationRefused."""
        pairs = [Pair.model_validate(pair.model_dump()) for pair in request.pairs] or shipped_pairs()
        embedder = await self.embedder()
        questions = dict.fromkeys(question for pair in pairs for question in (pair.first, pair.second))
        vectors = {question: (await embedder.embed_query(question)).pooled for question in questions}
        model, sweep = fit(judged(pairs, vectors), embedder.fingerprint, self.clock())
        if not request.dry_run:
            await self.store.episodes.keep_fitted(embedder.fingerprint, model.to_json(), model.fitted_at)
        return wire.CalibrateEpisodesReply(
            embedder=model.embedder,
            fitted_at=model.fitted_at,
            kept=not request.dry_run,
            threshold=model.threshold,
            report=wire.EpisodeFitReport.model_validate(asdict(model.report)),
            sweep=tuple(wire.SweepView.model_validate(row) for row in sweep),
        )
