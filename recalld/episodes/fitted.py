"""Where the model of episodes is: what was fitted here, or what comes with the project for the packaged embedder."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from recalld.episodes.confidence import EpisodeModel
from recalld.store import Store


async def fitted(store: Store, embedder: str) -> EpisodeModel | None:
    """Return the newest model for an embedder (by its fingerprint). Raises CalibrationRefused for a damaged one."""
    stored = await store.episodes.fitted(embedder)
    if stored is not None:
        return EpisodeModel.from_json(stored)
    packaged = shipped()
    return packaged if packaged is not None and packaged.embedder == embedder else None


@cache
def shipped() -> EpisodeModel | None:
    """Return the model that comes with the project."""
    place = files("recalld.data") / "episode_model.json"
    return EpisodeModel.from_json(json.loads(place.read_text("utf-8"))) if place.is_file() else None
