"""Runs the server: over standard input and output, or over HTTP."""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from recalld.errors import ConfigError
from recalld_plugins.mcp.guard import Address, Guard, served_hosts
from recalld_plugins.mcp.link import Link
from recalld_plugins.mcp.server import server

PATH = "/mcp"
GRACE_S = 3
"""How long a stop waits for requests in flight."""

log = logging.getLogger(__name__)


async def serve_stdio(link: Link, max_tokens: int) -> None:
    """Serve whoever started this process, until it closes our stdin. Nothing but the protocol is written to stdout."""
    made = server(link, max_tokens)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the SDK reads stdin in a thread, which no cancellation would end
    try:
        async with stdio_server() as (read, write):
            await made.run(read, write, made.create_initialization_options())
    finally:
        await link.aclose()


async def serve_http(
    link: Link,
    max_tokens: int,
    address: Address,
    token: str,
    hosts: tuple[str, ...],
    on_listening: Callable[[str], None],
) -> None:
    """Serve over HTTP until a signal ends it. ``on_listening`` is told the URL once it is bound.

    Raises ConfigError where the address cannot be bound.
    """
    bound = _bound(address)
    address = Address(address.host, bound.getsockname()[1])
    app = Guard(_app(server(link, max_tokens)), token, served_hosts(address, hosts))
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="on",
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
    )
    try:
        on_listening(f"http://{address}{PATH}")
        await uvicorn.Server(config).serve(sockets=[bound])
    finally:
        bound.close()
        await link.aclose()


def _app(made: Server[dict[str, Any]]) -> Any:
    """Return the SDK's app. Its own check of the host would come after that of the token: the guard does both."""
    from mcp.server.transport_security import TransportSecuritySettings

    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return made.streamable_http_app(streamable_http_path=PATH, transport_security=unchecked)


def _bound(address: Address) -> socket.socket:
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, where = found[0]
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(where)
            bound.listen()
        except OSError:
            bound.close()
            raise
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {address}: {error.strerror or error}", suggestion="name another: --http 127.0.0.1:9000"
        ) from error
    return bound
