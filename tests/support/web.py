"""A web server on loopback that answers as it is told, well or badly."""

from __future__ import annotations

import datetime
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.tls import TLSListener
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

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
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
            async with stream:
                head = b""
                while b"\r\n\r\n" not in head:
                    head += await stream.receive()
                self.asked.append(head.decode("latin-1"))
                found = self.answers.get(head.split(b" ")[1].decode(), answer(b"no", status="404 Not Found"))
                await (stream.send(found) if isinstance(found, bytes) else found(stream))


@asynccontextmanager
async def web_server(tls: ssl.SSLContext | None = None) -> AsyncIterator[WebServer]:
    """Run a server until the block ends."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", family=socket.AF_INET)
    async with listener, anyio.create_task_group() as group:
        server = WebServer(listener.extra(SocketAttribute.local_port))
        group.start_soon(
            (TLSListener(listener, tls, standard_compatible=False) if tls else listener).serve, server.serve
        )
        yield server
        group.cancel_scope.cancel()


def certificate_for(host: str, directory: Path) -> Path:
    """Make a key and a certificate for a host, signed by itself; return the file that holds both."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = directory / f"{host}.pem"
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path
