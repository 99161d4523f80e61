"""A model of episodes in tests: made by hand, so that what is near is served by likeness alone."""

from __future__ import annotations

from recalld.episodes.confidence import EpisodeModel, FitReport
from recalld.store import Store
from tests.support.judged import AT

REPORT = FitReport(
    pairs=0, held_back=0, topics=(), held_topics=(), false_hits=0, served=0, held_false_hits=0, held_served=0, auc=0,
    held_auc=0,
)  # fmt: skip


def by_hand(embedder: str) -> EpisodeModel:
    """Serve what has a cosine of 0.7 or so, and nothing that differs; one failure more than helps is too much."""
    return EpisodeModel(embedder, AT, (4.0, 2.0, 0.2, 4.0), -8.5, 0.5, REPORT)


async def keep_model(store: Store) -> None:
    """Keep the model for the embedder of the generation that serves."""
    generation = await store.generations.serving()
    assert generation is not None
    model = by_hand(generation.embedder_fingerprint)
    await store.episodes.keep_fitted(model.embedder, model.to_json(), AT)
