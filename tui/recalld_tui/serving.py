"""The dashboard in a browser: textual-serve on loopback, for pages of its own alone.

A page of any site may open a WebSocket to this machine, and textual-serve would give it the keyboard; so requests that
name another host, or come from another origin, are refused, and the page itself may load nothing from elsewhere.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from functools import partial

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from textual_serve.server import Server

POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self' {socket}; font-src 'self' data:; frame-ancestors 'none'; form-action 'none'; base-uri 'none'"
)


class Guarded(Server):
    """A server that hears only its own pages."""

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.middlewares.append(guard(self.host, self.port))
        app.on_response_prepare.append(partial(tell_policy, socket=self.public_url.replace("http", "ws", 1)))
        return app


def guard(host: str, port: int) -> Middleware:
    """Return a middleware that refuses, with status 403, what is asked under another name or from another origin."""
    name = f"[{host}]" if ":" in host else host
    hosts = {f"{each}:{port}" for each in (name, "127.0.0.1", "localhost", "[::1]")}
    origins = {f"http://{each}" for each in hosts}

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        origin = request.headers.get("Origin")
        foreign = origin is not None and origin not in origins
        if request.headers.get("Host") not in hosts or foreign or (origin is None and request.path == "/ws"):
            return web.Response(status=403, text="asked under another name, or from another page")
        return await handler(request)

    return check


async def tell_policy(request: web.Request, response: web.StreamResponse, *, socket: str) -> None:
    """Tell the browser what the page may load."""
    response.headers["Content-Security-Policy"] = POLICY.format(socket=socket)
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "no-referrer"


def made(options: Sequence[str], host: str, port: int) -> Guarded:
    """Return the server; each browser that comes gets a dashboard of its own, started with ``options``."""
    command = shlex.join([sys.executable, "-c", "from recalld.cli import recall; recall()", "dashboard", *options])
    name = f"[{host}]" if ":" in host else host
    return Guarded(command, host=host, port=port, title="recalld", public_url=f"http://{name}:{port}")


def serve(options: Sequence[str], host: str, port: int) -> None:
    """Serve until Ctrl-C."""
    made(options, host, port).serve()
