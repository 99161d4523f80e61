"""Who may speak to the server over HTTP: requests with the token, to a host that is this one, of no foreign page."""

from __future__ import annotations

import hmac
import ipaddress
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from recalld.errors import UsageError

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8573
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1")
_ANY_PORT = ":*"
_UNAUTHORIZED, _FORBIDDEN, _MISDIRECTED = 401, 403, 421

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen. Port 0 is any that is free."""

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT

    @classmethod
    def read(cls, text: str) -> Address:
        """Read ``host:port``, ``host``, ``:port`` or ``[::1]:port``. Raises UsageError."""
        try:
            parts = urlsplit(f"//{text}")
            host, port = parts.hostname, parts.port
        except ValueError:
            parts, host, port = urlsplit(""), None, None
        if parts.netloc != text or parts.username is not None or (host is None and port is None):
            raise UsageError(
                f"{text!r} is no address", suggestion=f"write {DEFAULT_HOST}:{DEFAULT_PORT}, or [::1]:8080"
            )
        return cls(host or DEFAULT_HOST, DEFAULT_PORT if port is None else port)

    @property
    def loopback(self) -> bool:
        """Tell whether only this machine can reach it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def served_hosts(address: Address, more: tuple[str, ...]) -> frozenset[str]:
    """Return the Host headers that mean this server: its own, and those that a proxy in front of it is known by.

    One of ``more`` without a port stands for itself with any port.
    """
    names = {*LOOPBACK_NAMES, address.host} if address.loopback else {address.host}
    own = {str(Address(name, address.port)) for name in names}
    any_port = {f"{name}{_ANY_PORT}" for name in more if urlsplit(f"//{name}").port is None}
    return frozenset(name.lower() for name in {*own, *more, *any_port})


@dataclass(frozen=True, slots=True)
class Guard:
    """Lets through to ``app`` what comes with the token; a page that a browser has loaded elsewhere never does.

    A name that was made to point here (DNS rebinding) shows itself in Host, a foreign page in Origin.
    """

    app: App
    token: str
    hosts: frozenset[str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (refusal := self.refusal(_headers(scope))):
            await _refuse(send, *refusal)
        elif scope["type"] != "websocket":
            await self.app(scope, receive, send)

    def refusal(self, headers: Mapping[str, str]) -> tuple[int, str, str] | None:
        """Return status, code and words of why a request is refused; None where it is not."""
        if not self._is_served(headers.get("host", "")):
            return _MISDIRECTED, "wrong_host", "this server does not go by that name (mcp.hosts names others)"
        origin = headers.get("origin")
        if origin is not None and not self._is_served(urlsplit(origin).netloc):
            return _FORBIDDEN, "wrong_origin", "pages from elsewhere may not ask here"
        if not self._shows_token(headers.get("authorization", "")):
            return _UNAUTHORIZED, "invalid_token", "send Authorization: Bearer TOKEN"
        return None

    def _is_served(self, host: str) -> bool:
        host = host.lower()
        return host in self.hosts or f"{host.rpartition(':')[0]}{_ANY_PORT}" in self.hosts

    def _shows_token(self, authorization: str) -> bool:
        scheme, _, shown = authorization.partition(" ")
        same = hmac.compare_digest(shown.strip().encode(), self.token.encode())
        return scheme.lower() == "bearer" and same


def _headers(scope: Scope) -> dict[str, str]:
    """Return the headers by lower-case name. What comes twice is joined, and so is no token and no host."""
    found: dict[str, str] = {}
    for key, value in scope["headers"]:
        name, text = key.decode("latin-1").lower(), value.decode("latin-1")
        found[name] = f"{found[name]}, {text}" if name in found else text
    return found


async def _refuse(send: Send, status: int, code: str, words: str) -> None:
    body = json.dumps({"error": code, "error_description": words}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == _UNAUTHORIZED:
        headers.append((b"www-authenticate", f'Bearer error="{code}", error_description="{words}"'.encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
