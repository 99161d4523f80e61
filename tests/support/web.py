"""A web server on loopback that answers as it is told, well or badly."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import anyio
from anyio.abc import SocketAttribute, SocketStream

Answer = bytes | Callable[[SocketStream], Awaitable[None]]


def answer(
    body: bytes, media_type: str = "text/html", status: str = "200 OK", headers: Mapping[str, str] | None = None
) -> bytes:
    """Return a whole answer, as it stands on the wire."""
    lines = {"Content-Type": media_type, "Content-Length": str(len(body)), **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value)
    return f"HTTP/1.1 {status}\r\n{head}Connection: close\r\n\r\n".encode() + body


def redirect(to: str, status: str = "302 Found") -> bytes:
    """Return an answer that leads on."""
    return answer(b"", status=status, headers={"Location": to})


@dataclass
class WebServer:
    """Answers by path; ``asked`` is what it was sent, head by head."""

    port: int
    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, stream: SocketStream) -> None:
        async with stream:
            with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                head = b""
                while b"\r\n\r\n" not in head:
                    head += await stream.receive()
                self.asked.append(head.decode("latin-1"))
                found = self.answers.get(head.split(b" ")[1].decode(), answer(b"no", status="404 Not Found"))
                await (stream.send(found) if isinstance(found, bytes) else found(stream))


@asynccontextmanager
async def web_server() -> AsyncIterator[WebServer]:
    """Run a server until the block ends."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", family=socket.AF_INET)
    async with listener, anyio.create_task_group() as group:
        server = WebServer(listener.extra(SocketAttribute.local_port))
        group.start_soon(listener.serve, server.serve)
        yield server
        group.cancel_scope.cancel()
