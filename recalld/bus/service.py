"""The micro service ``recalld``: one endpoint a verb, and an answer to whatever comes.

nats-py calls an endpoint's handler for one message at a time and drops what is queued or in work when its service
stops. So a request is handed to a task group at once, and a stop first takes the endpoints away, then waits.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio
import nats.errors
import nats.micro
import pydantic
from anyio.abc import TaskGroup, TaskStatus
from nats.micro.request import ERROR_CODE_HEADER, ERROR_HEADER, Request
from nats.micro.service import EndpointStats
from nats.micro.service import Service as MicroService

from recalld.bus import subjects, wire
from recalld.bus.connection import Connection
from recalld.bus.parts import parts_to
from recalld.errors import (
    BusyError,
    DeadlineError,
    DependencyError,
    RecalldError,
    TooLargeError,
    UsageError,
)
from recalld.settings import BusSettings
from recalld.spans import span

log = logging.getLogger(__name__)

Req = TypeVar("Req", bound=wire.Request)
Rep = TypeVar("Rep", bound=wire.Reply)

REPLY_PREFIXES = ("_INBOX.", "_R_.", "_GR_.")
"""Where replies may go: inboxes, and what a NATS server makes of them between accounts and clusters. Anything else
would let an agent have the daemon publish where it may not itself."""
HEADER_CHARACTERS = 500
INTERNAL = "internal error, the daemon's log says more"
STATUS = {
    "bad_request": "400",
    "refused": "403",
    "not_found": "404",
    "too_large": "413",
    **dict.fromkeys(("document", "encrypted", "broken_document", "no_text", "unsupported_type"), "422"),
    "busy": "429",
    "fetch": "502",
    "dependency": "503",
    "warming": "503",
    "unreachable": "503",
    "deadline": "504",
}
"""The micro protocol's number for an error's code; 500 for any other."""


Tell = Callable[[wire.Reply], Awaitable[None]]
"""Sends a part of an answer ahead of the answer."""


@dataclass(slots=True)
class Endpoint:
    """A verb: its messages, what answers it, and how it has fared."""

    verb: str
    request: type[wire.Request]
    reply: type[wire.Reply]
    handler: Callable[[str, Any, Tell], Awaitable[wire.Reply]]
    requests: int = 0
    errors: int = 0
    in_flight: int = 0
    busy_ns: int = 0
    last_error: str = ""

    @property
    def name(self) -> str:
        return self.verb.replace(".", "_")

    def metadata(self) -> dict[str, str]:
        """Return the JSON schemas of request and reply, as endpoint metadata has them: as strings."""
        return {
            "request_schema": json.dumps(self.request.model_json_schema(), separators=(",", ":")),
            "reply_schema": json.dumps(self.reply.model_json_schema(mode="serialization"), separators=(",", ":")),
        }


class Service:
    """Serves the verbs that were added, until it is stopped."""

    def __init__(self, connection: Connection, node: str, version: str, settings: BusSettings) -> None:
        self._connection = connection
        self._node = node
        self._version = semantic(version)
        self._settings = settings
        self._endpoints: dict[str, Endpoint] = {}
        self._in_flight = 0
        self._idle = anyio.Event()

    @property
    def in_flight(self) -> int:
        """Return how many requests are being answered."""
        return self._in_flight

    def add(
        self, verb: str, request: type[Req], reply: type[Rep], handler: Callable[[str, Req], Awaitable[Rep]]
    ) -> None:
        """Have ``handler`` answer ``verb``; it is given the calling agent's name and the request."""

        async def alone(agent: str, body: Req, tell: Tell) -> Rep:
            return await handler(agent, body)

        self.add_streaming(verb, request, reply, alone)

    def add_streaming(
        self, verb: str, request: type[Req], reply: type[Rep], handler: Callable[[str, Req, Tell], Awaitable[Rep]]
    ) -> None:
        """As :meth:`add`; the handler may send parts ahead, and is cancelled once nobody listens for them."""
        endpoint = Endpoint(verb, request, reply, handler)
        self._endpoints[endpoint.name] = endpoint

    async def run(self, stop: anyio.Event, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Answer until ``stop`` is set and what was asked until then is answered, or ``drain_s`` have passed."""
        async with anyio.create_task_group() as group:
            micro = await self._register(group)
            try:
                task_status.started()
                await stop.wait()
            finally:
                with anyio.CancelScope(shield=True):
                    await self._unregister(micro)
            await self._drained()
            group.cancel_scope.cancel()

    async def _register(self, group: TaskGroup) -> MicroService:
        micro = await nats.micro.add_service(
            self._connection.client,
            name=subjects.SERVICE,
            version=self._version,
            description="a memory that AI agents can trust",
            metadata={"node": self._node},
            queue_group=subjects.SERVICE,
            stats_handler=self._stats,
        )
        for endpoint in self._endpoints.values():
            await micro.add_endpoint(
                name=endpoint.name,
                subject=subjects.endpoint(endpoint.verb),
                handler=self._receiver(endpoint, group),
                metadata=endpoint.metadata(),
            )
        await self._connection.flush()
        return micro

    async def _unregister(self, micro: MicroService) -> None:
        """Take the endpoints away without dropping a request that the server has sent already."""
        subscriptions = [endpoint._subscription for endpoint in micro._endpoints]
        for subscription in (*subscriptions, *micro._subscriptions.values()):
            if subscription is not None:
                await self._connection.drain(subscription)
        micro._endpoints, micro._subscriptions = [], {}
        await micro.stop()

    async def _drained(self) -> None:
        with anyio.move_on_after(self._settings.drain_s) as patience:
            while self._in_flight:
                self._idle = anyio.Event()
                await self._idle.wait()
        if patience.cancelled_caught:
            log.warning("%d requests were not answered in time", self._in_flight)

    def _receiver(self, endpoint: Endpoint, group: TaskGroup) -> Callable[[Request], Awaitable[None]]:
        async def receive(request: Request) -> None:
            self._in_flight += 1
            endpoint.in_flight += 1
            group.start_soon(self._serve, endpoint, request)

        return receive

    async def _serve(self, endpoint: Endpoint, request: Request) -> None:
        begun = time.perf_counter_ns()
        try:
            with span(endpoint.verb, agent=subjects.caller(request.subject)):
                await self._answer(endpoint, request)
        except (nats.errors.Error, RecalldError, OSError) as error:
            log.warning("the reply to %s was not sent: %s", request.subject, error)
        finally:
            endpoint.requests += 1
            endpoint.busy_ns += time.perf_counter_ns() - begun
            endpoint.in_flight -= 1
            self._in_flight -= 1
            self._idle.set()

    async def _answer(self, endpoint: Endpoint, request: Request) -> None:
        inbox = request._msg.reply
        if not inbox.startswith(REPLY_PREFIXES):
            endpoint.errors += 1
            log.warning("%s wants its reply on %r, which is no inbox: not worked on", request.subject, inbox)
            return
        try:
            payload = await self._reply(endpoint, request)
            await self._connection.publish(inbox, payload)
        except RecalldError as error:
            await self._refuse(endpoint, inbox, error)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._refuse(
                    endpoint, inbox, DependencyError("the daemon is stopping", suggestion="ask again in a moment")
                )
            raise
        except Exception:
            log.exception("%s failed", request.subject)
            await self._refuse(endpoint, inbox, RecalldError(INTERNAL, suggestion="report it, with the log"))

    async def _reply(self, endpoint: Endpoint, request: Request) -> bytes:
        if self._in_flight > self._settings.max_in_flight:
            raise BusyError(
                f"{self._settings.max_in_flight} requests are being answered already",
                suggestion="ask again in a moment, or raise bus.max_in_flight",
            )
        agent = subjects.caller(request.subject)
        if not subjects.is_token(agent):
            raise UsageError(
                f"{agent!r} is not an agent name", suggestion="use 1 to 64 letters, digits, - and _ in the subject"
            )
        body = self._parse(endpoint, request.data)
        deadline_s = body.deadline_ms / 1_000 if body.deadline_ms else self._settings.deadline_s
        with anyio.move_on_after(deadline_s):
            async with parts_to(self._connection, request._msg.reply) as tell:
                reply = await endpoint.handler(agent, body, tell)
            return self._fitting(reply.model_dump_json().encode())
        raise DeadlineError(f"no answer within {deadline_s:g} s", suggestion="allow more time, or ask for less")

    def _parse(self, endpoint: Endpoint, data: bytes) -> wire.Request:
        limit = self._settings.max_request_bytes
        if len(data) > limit:
            raise TooLargeError(
                f"the request has {len(data)} bytes, {limit} are allowed",
                suggestion="ask for less at once, or raise bus.max_request_bytes",
            )
        try:
            return endpoint.request.model_validate_json(data or b"{}")
        except pydantic.ValidationError as error:
            raise invalid(endpoint.verb, endpoint.request, error) from error

    def _fitting(self, payload: bytes) -> bytes:
        limit = self._connection.max_payload
        if len(payload) > limit:
            raise TooLargeError(
                f"the reply has {len(payload)} bytes, NATS takes {limit}",
                suggestion="ask for less (a smaller k or limit), or raise the NATS server's max_payload",
            )
        return payload

    async def _refuse(self, endpoint: Endpoint, inbox: str, error: RecalldError) -> None:
        endpoint.errors += 1
        endpoint.last_error = f"{error.code}: {error.message}"
        body = wire.ErrorBody(code=error.code, message=error.message, suggestion=error.suggestion)
        await self._connection.publish(
            inbox,
            wire.ErrorReply(error=body).model_dump_json().encode(),
            headers={
                ERROR_HEADER: header(error.message) or error.code,
                ERROR_CODE_HEADER: STATUS.get(error.code, "500"),
            },
        )

    def _stats(self, stats: EndpointStats) -> dict[str, Any]:
        """Put the real numbers in the place of nats-py's, which ends its clock when the request is handed over."""
        endpoint = self._endpoints[stats.name]
        stats.num_requests = endpoint.requests
        stats.num_errors = endpoint.errors
        stats.last_error = endpoint.last_error
        stats.processing_time = endpoint.busy_ns
        stats.average_processing_time = endpoint.busy_ns // max(1, endpoint.requests)
        return {"in_flight": endpoint.in_flight, "max_in_flight": self._settings.max_in_flight}


def invalid(verb: str, model: type[wire.Request], error: pydantic.ValidationError) -> UsageError:
    """Return what is wrong with a request in one line, and what it may hold."""
    faults = error.errors(include_url=False, include_input=False, include_context=False)
    words = "; ".join(
        f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" if fault["loc"] else fault["msg"] for fault in faults[:5]
    )
    unknown = any(fault["type"] == "extra_forbidden" for fault in faults)
    suggestion = (
        f"{verb} knows {', '.join(model.model_fields)}"
        if unknown
        else f"the schema of {verb} is in the service's endpoint metadata: `nats micro info recalld`"
    )
    return UsageError(f"bad request: {words}", suggestion=suggestion)


def header(text: str) -> str:
    """Return text that can stand in a NATS header: one line of ASCII, not too long."""
    line = " ".join(text.split())
    return "".join(c if " " <= c <= "~" else "?" for c in line)[:HEADER_CHARACTERS]


def semantic(version: str) -> str:
    """Return a Python version in the form that micro services must have: 1.2.3.dev4 is 1.2.3-dev4."""
    match = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?[.-]?(.*)", version)
    if match is None:
        return "0.0.0"
    major, minor, patch, rest = match.groups()
    suffix = re.sub(r"[^0-9A-Za-z]+", "-", rest).strip("-")
    return f"{int(major)}.{int(minor)}.{int(patch or 0)}" + (f"-{suffix}" if suffix else "")
