"""Long inference in parts, so that what nobody waits for any more soon ends."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from anyio import CapacityLimiter, from_thread, to_thread

from recalld.errors import DependencyError


async def in_parts(
    score: Callable[[Sequence[str]], Sequence[float]], texts: Sequence[str], size: int, threads: CapacityLimiter
) -> list[float]:
    """Score texts in a thread, ``size`` at a time. When this is cancelled, the thread ends after the part at hand.

    Raises DependencyError for a score that is no number, which a model with overflowing weights gives.
    """

    def run() -> list[float]:
        made: list[float] = []
        for start in range(0, len(texts), size):
            from_thread.check_cancelled()
            made += score(texts[start : start + size])
        return made

    scores = await to_thread.run_sync(run, limiter=threads, abandon_on_cancel=True)
    if not all(map(math.isfinite, scores)):
        raise DependencyError("the model gave a score that is no number")
    return scores
