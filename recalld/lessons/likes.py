"""How near an act is to each guardrail by sentence embeddings: the optional blend beside words in common."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from recalld.embed.protocol import Embedder
from recalld.lessons.act import is_harmless
from recalld.lessons.guardrail import Action, Guardrail
from recalld.model import Vector

CHARACTERS = 1_000
"""How much of an act, or of a guardrail, is embedded."""
Vectors = NDArray[np.float32]
"""L2-normalised embeddings of guardrails, shape (guardrails, dimension)."""


@dataclass(slots=True)
class Likeness:
    """Embeds guardrails once and acts as they come.

    ``embedder`` waits until the model is loaded, ``ready`` tells whether it is: no act waits for that.
    """

    embedder: Callable[[], Awaitable[Embedder]]
    ready: Callable[[], bool]
    _known: dict[str, Vector] = field(default_factory=dict, init=False)

    async def of_guardrails(self, guardrails: Sequence[Guardrail]) -> Vectors:
        """Return the embeddings of guardrails, in their order. Raises DependencyError."""
        embedder = await self.embedder()
        texts = [f"{one.title}\n{one.check}\n{one.text}"[:CHARACTERS] for one in guardrails]
        for text in texts:
            if text not in self._known:
                self._known[text] = (await embedder.embed_query(text)).pooled
        return np.stack([self._known[text] for text in texts]) if texts else np.zeros((0, embedder.dimension), "f4")

    async def of_act(self, action: Action) -> Vector | None:
        """Return the embedding of an act; None for one that can do no harm, or too early. Raises DependencyError."""
        if is_harmless(action) or not self.ready():
            return None
        return (await (await self.embedder()).embed_query(action.words[:CHARACTERS])).pooled
