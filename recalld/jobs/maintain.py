"""The job ``maintain``: one pass of named steps; one that fails does not keep the others from running."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recalld.errors import RecalldError
from recalld.jobs.job import Progress

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Step:
    """A part of the pass: its name, and what does it and returns what came of it."""

    name: str
    run: Callable[[], Awaitable[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Done:
    """A step that was run: what came of it, or why it failed, and how long it took (ms)."""

    name: str
    result: Mapping[str, Any]
    error: str
    took_ms: float


def _silent(done: int, total: int, words: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Maintain:
    """Runs steps one after another. ``monotonic`` is a clock in seconds."""

    steps: Sequence[Step]
    monotonic: Callable[[], float]

    async def __call__(self, progress: Progress = _silent) -> Mapping[str, Any]:
        """Run the pass as a job; return what came of each step by its name."""
        done = await self.run(progress)
        return {each.name: {"error": each.error} if each.error else dict(each.result) for each in done}

    async def run(self, progress: Progress = _silent) -> list[Done]:
        """Run all steps, and tell of each before it begins."""
        done: list[Done] = []
        for number, step in enumerate(self.steps):
            progress(number, len(self.steps), step.name)
            begun = self.monotonic()
            result, error = await _result(step)
            done.append(Done(step.name, result, error, (self.monotonic() - begun) * 1e3))
        return done


async def _result(step: Step) -> tuple[Mapping[str, Any], str]:
    try:
        return await step.run(), ""
    except RecalldError as error:
        return {}, error.message
    except Exception:
        log.exception("the step %s failed", step.name)
        return {}, "internal error, the daemon's log says more"
