"""NATS, as much of it as one question needs: connect, subscribe, publish, one reply.

On the bare ``_socket``: the module ``socket`` costs 13 ms, for ``enum`` and ``selectors``.
"""

import posix
import time
from _socket import SOCK_STREAM, getaddrinfo
from _socket import socket as Socket  # noqa: N812 - the class, without what the module socket puts around it

from recalld_plugins.claude_code.plain import Fields, fields, read_object, text, write

REPLY_BYTES = 1 << 20
LINE_BYTES = 1 << 16
REQUEST_BYTES = 60_000
"""The daemon refuses requests of more than 64 KiB (bus.max_request_bytes)."""


class Server:
    """A NATS server's address, read from its URL; ``user`` and ``password`` count where it names none.

    Raises ValueError.
    """

    def __init__(self, url: str, user: str = "", password: str = "") -> None:
        scheme, found, rest = url.strip().partition("://")
        if not found:
            scheme, rest = "nats", url.strip()
        if scheme not in ("nats", "tls"):
            raise ValueError(f"{scheme}:// is not spoken here")
        self.tls = scheme == "tls"
        userinfo, _, place = rest.partition("/")[0].rpartition("@")
        self.user, given, self.password = userinfo.partition(":") if userinfo else (user, ":", password)
        self.token = "" if given else self.user
        if place.startswith("["):
            self.host, _, port = place[1:].partition("]")
        else:
            self.host, _, port = place.partition(":")
        self.port = int(port.removeprefix(":") or 4222)

    def login(self) -> Fields:
        """Return what CONNECT says of who is there."""
        if self.token:
            return {"auth_token": self.token}
        return {"user": self.user, "pass": self.password} if self.user else {}


class Wire:
    """A connection that speaks lines and lengths, until a moment of the monotonic clock. Raises OSError, ValueError."""

    def __init__(self, server: Server, until: float) -> None:
        self._until = until
        self._host = server.host
        self._socket = self._connected(server)
        self._read = bytearray()

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def secure(self) -> None:
        """Go on with TLS. The certificate must be that of the host."""
        import socket
        import ssl

        plain = socket.socket(fileno=self._socket.detach())
        plain.settimeout(self._left())
        self._socket = ssl.create_default_context().wrap_socket(plain, server_hostname=self._host)

    def send(self, data: bytes) -> None:
        """Send all of it."""
        self._socket.settimeout(self._left())
        self._socket.sendall(data)

    def line(self) -> bytes:
        """Return the next line without its end."""
        seen = 0
        while (end := self._read.find(b"\n", seen)) < 0:
            seen = len(self._read)
            if seen > LINE_BYTES:
                raise ValueError("the server sent an endless line")
            self._more()
        line = bytes(self._read[:end])
        del self._read[: end + 1]
        return line.rstrip(b"\r")

    def take(self, size: int) -> bytes:
        """Return so many bytes and drop the line's end behind them."""
        if not 0 <= size <= REPLY_BYTES:
            raise ValueError(f"the server announced {size} bytes")
        while len(self._read) < size + 2:
            self._more()
        taken = bytes(self._read[:size])
        del self._read[: size + 2]
        return taken

    def _more(self) -> None:
        self._socket.settimeout(self._left())
        data = self._socket.recv(1 << 16)
        if not data:
            raise OSError("the server hung up")
        self._read += data

    def _left(self) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("the time is up")
        return left

    def _connected(self, server: Server) -> Socket:
        failure = OSError(f"{server.host} is no host")
        host = server.host.encode("ascii")  # a str would import the codec of international names
        for family, kind, protocol, _, place in getaddrinfo(host, server.port, 0, SOCK_STREAM):
            socket = Socket(family, kind, protocol)
            try:
                socket.settimeout(self._left())
                socket.connect(place)
                return socket
            except OSError as error:
                socket.close()
                failure = error
        raise failure


def ask(server: Server, agent: str, verb: str, request: Fields, until: float) -> Fields:
    """Return the daemon's reply. Raises OSError, ValueError, and LookupError for an error that it names."""
    wire = Wire(server, until)
    try:
        reply = read_object(_exchange(wire, server, agent, verb, write(fitting(request))))
    finally:
        wire.close()
    if "error" in reply:
        error = fields(reply["error"])
        raise LookupError(f"{error.get('code')}: {error.get('message')}")
    return reply


def _exchange(wire: Wire, server: Server, agent: str, verb: str, payload: bytes) -> bytes:
    """Introduce this agent, publish its request, and return the body of the answer."""
    hello = wire.line()
    if not hello.startswith(b"INFO "):
        raise ValueError("that is no NATS server")
    if read_object(hello[5:]).get("tls_required") is True or server.tls:
        wire.secure()
    options: Fields = {"verbose": False, "pedantic": False, "lang": "python", "version": "1", "name": "recall hook",
                       "protocol": 1, "headers": True, "no_responders": True}  # fmt: skip
    connect = write({**options, **server.login()})
    inbox, name = f"_INBOX.{agent}.{posix.urandom(12).hex()}".encode(), agent.encode()
    publish = b"PUB recall.v1.%b.%b %b %d\r\n%b\r\n" % (name, verb.encode(), inbox, len(payload), payload)
    wire.send(b"CONNECT %b\r\nSUB %b 1\r\n%b" % (connect, inbox, publish))
    return _answer(wire, inbox)


def _answer(wire: Wire, inbox: bytes) -> bytes:
    """Return the body of the first message to the inbox."""
    while True:
        line = wire.line()
        verb, *words = line.split() or [b""]
        verb = verb.upper()
        if verb == b"PING":
            wire.send(b"PONG\r\n")
        elif verb in (b"MSG", b"HMSG") and len(words) >= 3 + (verb == b"HMSG"):
            message = wire.take(int(words[-1]))
            head = int(words[-2]) if verb == b"HMSG" else 0
            if message[:head].startswith(b"NATS/1.0 503"):
                raise LookupError("nobody answers there")
            if words[0] == inbox:
                return message[head:]
        elif verb not in (b"INFO", b"+OK", b"PONG"):
            raise ValueError(f"the server said {line[:200]!r}")


def fitting(request: Fields) -> Fields:
    """Return the request with its longest texts halved until the daemon takes it."""
    while len(write(request)) > REQUEST_BYTES:
        longest = max(request, key=lambda name: len(text(request[name])))
        request = {**request, longest: text(request[longest])[: len(text(request[longest])) // 2]}
    return request
