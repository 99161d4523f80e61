"""``recall_index``: compare disk and index, then wait until all that differed is indexed."""

from __future__ import annotations

from dataclasses import dataclass

import anyio

from recalld.bus import wire
from recalld.concurrent import fault
from recalld_plugins.mcp.declare import Memory

POLL_S = 0.6
"""How often progress is asked for; the daemon counts anew twice a second."""
HEARTBEAT_S = 2.0
"""How often it is said that disk and index are still being compared."""


class IndexRequest(wire.Request):
    """As ``reindex``, but for a scan that drops half a repo: that is for a person to allow."""

    repo: str | None = None
    path: str | None = None
    force: bool = False
    wait: bool = True


class IndexReply(wire.ReindexReply):
    """``pending`` files still wait to be indexed, of all repos."""

    pending: int


@dataclass(slots=True)
class _Steps:
    """Tells of steps that only ever become more, as MCP wants it."""

    memory: Memory
    done: float = 0

    async def tell(self, done: float, total: float | None, message: str) -> None:
        if done > self.done:
            self.done = done
            await self.memory.progress(done, total, message)


async def index(memory: Memory, request: IndexRequest) -> IndexReply:
    """Compare and, unless told not to, wait. What is cancelled here goes on in the daemon."""
    steps = _Steps(memory)
    reports = (await _scanned(memory, request, steps)).reports
    compared = steps.done
    total = sum(report.changed + report.deleted for report in reports)
    pending = await _pending(memory)
    while request.wait and total and pending:
        total = max(total, pending)
        await steps.tell(compared + total - pending, compared + total, f"{pending} files wait to be indexed")
        await anyio.sleep(POLL_S)
        pending = await _pending(memory)
    return IndexReply(reports=reports, pending=pending)


async def _scanned(memory: Memory, request: IndexRequest, steps: _Steps) -> wire.ReindexReply:
    asked = wire.ReindexRequest(repo=request.repo, path=request.path, force=request.force)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_heartbeat, steps)
            reply = await memory.client.reindex(asked)
            tasks.cancel_scope.cancel()
    except BaseExceptionGroup as failures:
        raise fault(failures) from None
    return reply


async def _heartbeat(steps: _Steps) -> None:
    while True:
        await steps.tell(steps.done + 1, None, "comparing disk with index")
        await anyio.sleep(HEARTBEAT_S)


async def _pending(memory: Memory) -> int:
    return (await memory.client.stats(findings=0)).freshness.pending
