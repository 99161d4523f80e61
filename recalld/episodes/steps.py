"""The path that a question took, step by step, with what each took."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import perf_counter

from recalld.model import StageTrace
from recalld.spans import span

Begun = Callable[[str], Awaitable[None]]
"""Is told the name of each step as it begins."""


@dataclass(slots=True)
class Step:
    """One step: its name, how long it took (ms), and a word on how it went."""

    name: str
    took_ms: float = 0.0
    note: str = ""


@dataclass(slots=True)
class Steps:
    """What was done for one question, in order; ``stages`` are those of its last search."""

    taken: list[Step] = field(default_factory=list)
    stages: Sequence[StageTrace] = ()
    told: Begun | None = None

    @asynccontextmanager
    async def step(self, name: str) -> AsyncIterator[Step]:
        """Time a step; one that fails is in the path, too."""
        step = Step(name)
        self.taken.append(step)
        if self.told is not None:
            await self.told(name)
        begun = perf_counter()
        with span(name) as current:
            try:
                yield step
            finally:
                step.took_ms = (perf_counter() - begun) * 1e3
                current.set_attribute("note", step.note)

    def inner(self, stages: Sequence[StageTrace]) -> None:
        """Keep the stages of a search."""
        self.stages = stages
