"""One job under way: performed in one task, watched from another, so that one that does not end can be left behind."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import anyio

from recalld.errors import RecalldError
from recalld.jobs.job import Runner
from recalld.store.jobs import Claim

log = logging.getLogger(__name__)

Announce = Callable[[str, Mapping[str, Any]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended: ``state`` as it is stored. ``told_to_stop`` where the job did not end by itself."""

    state: str
    result: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    told_to_stop: bool = False
    stuck: bool = False

    def facts(self) -> dict[str, Any]:
        """Return what an event says of it."""
        if self.state == "done":
            return {"result": dict(self.result)}
        facts: dict[str, Any] = {"reason": self.error}
        if self.state == "failed":
            facts["given_up"] = True
        return {**facts, "stuck": True} if self.stuck else facts


@dataclass
class Execution:
    """Performs a job under a claim. ``scope`` stops it, ``ended`` says that it has ended, however."""

    claim: Claim
    runner: Runner
    announce: Announce
    facts: Mapping[str, Any]
    clock: Callable[[], datetime]
    beat_s: float
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope, init=False)
    ended: anyio.Event = field(default_factory=anyio.Event, init=False)
    _own: Ending | None = field(default=None, init=False)
    _words: str = field(default="", init=False)
    _share: float | None = field(default=None, init=False)
    _steps: tuple[int, int] = field(default=(0, 0), init=False)
    _told: tuple[str, tuple[int, int]] = field(default=("", (0, 0)), init=False)

    async def perform(self) -> None:
        """Do the job; whatever it raises is its end."""
        try:
            with self.scope:
                self._own = Ending("done", dict(await self.runner(self._note)))
        except Exception as error:
            log.warning("job %s failed", self.claim.run.name, exc_info=not isinstance(error, RecalldError))
            words = error.message if isinstance(error, RecalldError) else f"{type(error).__name__}: {error}"
            self._own = Ending("failed", error=words)
        finally:
            self.ended.set()

    async def watch(self, timeout_s: float) -> Ending:
        """Beat until the job ends, or has to: out of time, cancelled, or the claim lost. Then it is told to stop."""
        deadline = anyio.current_time() + timeout_s
        while True:
            with anyio.move_on_after(max(0.0, min(self.beat_s, deadline - anyio.current_time()))):
                await self.ended.wait()
            if self.ended.is_set():
                return self._own or Ending("failed", error="it ended without a result")
            why = await self._why_stop(deadline, timeout_s)
            if why is not None:
                self.scope.cancel()
                return why

    async def _why_stop(self, deadline: float, timeout_s: float) -> Ending | None:
        if anyio.current_time() >= deadline:
            return Ending("timed_out", error=f"it took longer than {timeout_s:g} s", told_to_stop=True)
        try:
            cancelled_by = await self.claim.beat(words=self._words, share=self._share, at=self.clock())
        except RecalldError as error:
            return Ending("failed", error=f"the claim on the slot was lost: {error.message}", told_to_stop=True)
        await self._tell()
        if cancelled_by is None:
            return Ending("failed", error="the slot was taken over by another node", told_to_stop=True)
        return Ending("cancelled", error=f"cancelled by {cancelled_by}", told_to_stop=True) if cancelled_by else None

    async def stopped(self, patience_s: float) -> bool:
        """Wait for the job's end, so long at most; tell whether it has ended."""
        with anyio.move_on_after(patience_s):
            await self.ended.wait()
        return self.ended.is_set()

    def ending(self, seen: Ending) -> Ending:
        """Return how the run ended: a job that was done before it heard that it should stop is done."""
        if not seen.told_to_stop:
            return seen
        if self._own is not None and self._own.state == "done":
            return self._own
        if self.ended.is_set():
            return seen
        words = f"{seen.error}; told to stop, it goes on"
        return Ending(seen.state, error=words, told_to_stop=True, stuck=True)

    def _note(self, done: int, total: int, words: str) -> None:
        self._words, self._steps = words, (done, total)
        self._share = min(1.0, done / total) if total else None

    async def _tell(self) -> None:
        """Tell how far the job is, when that has changed since the last beat."""
        if (self._words, self._steps) != self._told:
            self._told = (self._words, self._steps)
            done, total = self._steps
            facts = {"done": done, "total": total, "words": self._words}
            await self.announce("job.progress", {**self.facts, **facts})
