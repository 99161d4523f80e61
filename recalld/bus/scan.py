"""Scan requests: a serving node asks the node that watches a repo to compare disk with index now."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

import anyio
import pydantic
from anyio.abc import TaskStatus
from nats.aio.msg import Msg
from nats.micro.request import ERROR_CODE_HEADER, ERROR_HEADER

from recalld.bus import subjects, wire
from recalld.bus.calls import call
from recalld.bus.connection import Connection
from recalld.bus.service import INTERNAL, REPLY_PREFIXES, STATUS, header, invalid
from recalld.errors import DeadlineError, DependencyError, RecalldError, UnreachableError
from recalld.model import Repo

log = logging.getLogger(__name__)

DEADLINE_S = 600.0

Scan = Callable[[str, wire.ReindexRequest], Awaitable[wire.ScanReport]]
"""Compares a repo, by name, with the index."""


class ScanServer:
    """Answers the scan requests to one node. Replies come when the scan is done, which can take minutes."""

    def __init__(self, connection: Connection, node: str, scan: Scan) -> None:
        self._connection = connection
        self._node = node
        self._scan = scan

    async def run(self, stop: anyio.Event, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Answer until ``stop`` is set; a scan that runs then is answered with an error."""
        async with anyio.create_task_group() as group:

            async def receive(message: Msg) -> None:
                group.start_soon(self._serve, message)

            subscription = await self._connection.subscribe(subjects.scan(self._node), receive)
            try:
                task_status.started()
                await stop.wait()
            finally:
                with anyio.CancelScope(shield=True):
                    await self._connection.drain(subscription)
            group.cancel_scope.cancel()

    async def _serve(self, message: Msg) -> None:
        if not message.reply.startswith(REPLY_PREFIXES):
            log.warning("a scan request wants its reply on %r, which is no inbox: not worked on", message.reply)
            return
        try:
            report = await self._report(message)
            await self._connection.publish(message.reply, report.model_dump_json().encode())
        except RecalldError as error:
            await self._refuse(message.reply, error)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._refuse(
                    message.reply,
                    DependencyError("the watching node is stopping", suggestion="it scans when it starts again"),
                )
            raise
        except Exception:
            log.exception("a scan failed")
            await self._refuse(message.reply, RecalldError(INTERNAL, suggestion="report it, with the log"))

    async def _report(self, message: Msg) -> wire.ScanReport:
        try:
            request = wire.ReindexRequest.model_validate_json(message.data)
        except pydantic.ValidationError as error:
            raise invalid("scan", wire.ReindexRequest, error) from error
        deadline_s = request.deadline_ms / 1_000 if request.deadline_ms else DEADLINE_S
        with anyio.move_on_after(deadline_s):
            return await self._scan(request.repo or "", request)
        raise DeadlineError(
            f"the scan of {request.repo} takes longer than {deadline_s:g} s", suggestion="see `recall stats`"
        )

    async def _refuse(self, inbox: str, error: RecalldError) -> None:
        body = wire.ErrorBody(code=error.code, message=error.message, suggestion=error.suggestion)
        try:
            await self._connection.publish(
                inbox,
                wire.ErrorReply(error=body).model_dump_json().encode(),
                headers={ERROR_HEADER: header(error.message), ERROR_CODE_HEADER: STATUS.get(error.code, "500")},
            )
        except RecalldError as why:
            log.warning("the answer to a scan request was not sent: %s", why)


class ScanClient:
    """Has repos scanned by the nodes that watch them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def scan(self, repo: Repo, request: wire.ReindexRequest) -> wire.ScanReport:
        """Return the report of the watching node. Raises UnreachableError when that node is not there."""
        asked = request.model_copy(update={"repo": repo.name})
        try:
            return await call(self._connection, subjects.scan(repo.node), asked, wire.ScanReport, deadline_s=DEADLINE_S)
        except UnreachableError as error:
            raise UnreachableError(
                f"node {repo.node}, which watches {repo.name}, does not answer",
                suggestion=f"start recalld with role watch on {repo.node}",
            ) from error
