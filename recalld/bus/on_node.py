"""Requests that one node alone can serve, because it has the disk: scans of its repos, and files of ours in them."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import anyio
import pydantic
from anyio.abc import TaskStatus
from nats.aio.msg import Msg
from nats.micro.request import ERROR_CODE_HEADER, ERROR_HEADER

from recalld.bus import wire
from recalld.bus.calls import call
from recalld.bus.connection import Connection
from recalld.bus.service import INTERNAL, REPLY_PREFIXES, STATUS, header, invalid
from recalld.errors import DeadlineError, DependencyError, RecalldError, UnreachableError
from recalld.model import Repo

log = logging.getLogger(__name__)

DEADLINE_S = 600.0

Req = TypeVar("Req", bound=wire.Request)
Rep = TypeVar("Rep", bound=wire.Reply)


class NodeServer(Generic[Req, Rep]):
    """Answers one kind of request to one node; a reply can take minutes. ``name`` is what the request is called."""

    def __init__(
        self,
        connection: Connection,
        name: str,
        subject: str,
        request: type[Req],
        handle: Callable[[Req], Awaitable[Rep]],
    ) -> None:
        self._connection = connection
        self._name = name
        self._subject = subject
        self._request = request
        self._handle = handle

    async def run(self, stop: anyio.Event, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Answer until ``stop`` is set; what is worked on then is answered with an error."""
        async with anyio.create_task_group() as group:

            async def receive(message: Msg) -> None:
                group.start_soon(self._serve, message)

            subscription = await self._connection.subscribe(self._subject, receive)
            try:
                task_status.started()
                await stop.wait()
            finally:
                with anyio.CancelScope(shield=True):
                    await self._connection.drain(subscription)
            group.cancel_scope.cancel()

    async def _serve(self, message: Msg) -> None:
        if not message.reply.startswith(REPLY_PREFIXES):
            log.warning(
                "a %s request wants its reply on %r, which is no inbox: not worked on", self._name, message.reply
            )
            return
        try:
            reply = await self._reply(message)
            await self._connection.publish(message.reply, reply.model_dump_json().encode())
        except RecalldError as error:
            await self._refuse(message.reply, error)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._refuse(
                    message.reply,
                    DependencyError("the watching node is stopping", suggestion="ask again when it has started"),
                )
            raise
        except Exception:
            log.exception("a %s failed", self._name)
            await self._refuse(message.reply, RecalldError(INTERNAL, suggestion="report it, with the log"))

    async def _reply(self, message: Msg) -> Rep:
        try:
            request = self._request.model_validate_json(message.data)
        except pydantic.ValidationError as error:
            raise invalid(self._name, self._request, error) from error
        deadline_s = request.deadline_ms / 1_000 if request.deadline_ms else DEADLINE_S
        with anyio.move_on_after(deadline_s):
            return await self._handle(request)
        raise DeadlineError(
            f"the {self._name} takes longer than {deadline_s:g} s", suggestion="allow more time, or see `recall stats`"
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
            log.warning("the answer to a %s request was not sent: %s", self._name, why)


async def ask_node(connection: Connection, repo: Repo, subject: str, request: wire.Request, reply: type[Rep]) -> Rep:
    """Ask the node that watches a repo. Raises what it answers, UnreachableError when it is not there."""
    try:
        return await call(connection, subject, request, reply, deadline_s=DEADLINE_S)
    except UnreachableError as error:
        raise UnreachableError(
            f"node {repo.node}, which watches {repo.name}, does not answer",
            suggestion=f"start recalld with role watch on {repo.node}",
        ) from error
