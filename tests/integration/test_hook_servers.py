"""The hook before servers that lie, dawdle or talk without end: it is silent, and ends in its time."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.abc import SocketStream

from tests.support.hook import bash, run_hook

APPLY = bash("terraform apply -auto-approve")
LATE_S = 1.0
"""What a busy machine may add to the time that a process takes."""


INFO = b'INFO {"headers":true,"max_payload":1048576}\r\n'


async def greeting(stream: SocketStream, info: bytes = INFO) -> str:
    """Do as a server does until the request is there; return the inbox."""
    await stream.send(info)
    heard = b""
    while b"\r\nPUB " not in heard or not heard.endswith(b"}\r\n"):
        heard += await stream.receive()
    return heard.partition(b"\r\nPUB ")[2].split()[1].decode()


async def never_answers(stream: SocketStream) -> None:
    await greeting(stream)
    await anyio.sleep_forever()


async def never_greets(stream: SocketStream) -> None:
    await anyio.sleep_forever()


async def drips(stream: SocketStream) -> None:
    inbox = await greeting(stream)
    for byte in f"MSG {inbox} 1 100000\r\n".encode() + b" " * 1_000:
        await stream.send(bytes([byte]))
        await anyio.sleep(0.02)


async def drips_its_greeting(stream: SocketStream) -> None:
    while True:
        await stream.send(b"I")
        await anyio.sleep(0.02)


async def pings_for_ever(stream: SocketStream) -> None:
    await greeting(stream)
    while True:
        await stream.send(b"PING\r\n" * 100)
        await anyio.sleep(0.005)


async def an_endless_line(stream: SocketStream) -> None:
    while True:
        await stream.send(b"x" * 65_536)


async def for_others_only(stream: SocketStream) -> None:
    await greeting(stream)
    while True:
        await stream.send(b"MSG _INBOX.other 1 2\r\n{}\r\nHMSG _INBOX.other 1 12 14\r\nNATS/1.0\r\n\r\n{}\r\n")
        await anyio.sleep(0.005)


def saying(*parts: bytes, info: bytes = INFO) -> Callable[[SocketStream], Awaitable[None]]:
    async def answer(stream: SocketStream) -> None:
        inbox = await greeting(stream, info)
        for part in parts:
            await stream.send(part.replace(b"INBOX", inbox.encode()))
        await anyio.sleep_forever()

    return answer


LYING: dict[str, Callable[[SocketStream], Awaitable[None]]] = {
    "never answers": never_answers,
    "never greets": never_greets,
    "drips": drips,
    "drips its greeting": drips_its_greeting,
    "pings for ever": pings_for_ever,
    "an endless line": an_endless_line,
    "for others only": for_others_only,
    "another protocol": saying(info=b"HTTP/1.1 200 OK\r\n\r\n"),
    "a greeting of nonsense": saying(info=b"INFO {]\r\n"),
    "a greeting that is a list": saying(info=b"INFO []\r\n"),
    "a greeting with wrong types": saying(b"-ERR 'x'\r\n", info=b'INFO {"headers":[],"tls_required":"no"}\r\n'),
    "tls that is none": saying(info=b'INFO {"tls_required":true}\r\n'),
    "too much announced": saying(b"MSG INBOX 1 99999999999\r\n"),
    "less than nothing": saying(b"MSG INBOX 1 -5\r\n"),
    "no number": saying(b"MSG INBOX 1 many\r\n"),
    "half a message": saying(b"MSG INBOX 1 500\r\n{"),
    "too few words": saying(b"MSG INBOX\r\n"),
    "headers longer than all": saying(b"HMSG INBOX 1 900 2\r\n{}\r\n"),
    "no json": saying(b"MSG INBOX 1 5\r\nhello\r\n"),
    "a list": saying(b"MSG INBOX 1 2\r\n[]\r\n"),
    "an error that is none": saying(b'MSG INBOX 1 11\r\n{"error":5}\r\n'),
    "checks that are none": saying(b'MSG INBOX 1 12\r\n{"checks":5}\r\n'),
    "checks of the wrong kind": saying(b'MSG INBOX 1 27\r\n{"checks":[5,[],{"check":1}]\r\n'),
    "unknown words": saying(b"HELLO\r\n"),
    "an empty line": saying(b"\r\n"),
}


@asynccontextmanager
async def listening(act: Callable[[SocketStream], Awaitable[None]]) -> AsyncIterator[str]:
    """A server that does ``act`` with whoever comes; gives its url."""

    async def serve(stream: SocketStream) -> None:
        async with stream:
            try:
                await act(stream)
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                return

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        yield f"nats://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}"
        group.cancel_scope.cancel()


@pytest.mark.parametrize("name", LYING)
async def test_a_lying_or_slow_server_is_left_in_time_and_in_silence(name: str) -> None:
    async with listening(LYING[name]) as url:
        ran = await run_hook("PreToolUse", APPLY, "--server", url, "--budget-ms", "150")
    assert ran.silent
    assert ran.took < 0.15 + LATE_S


async def test_an_answer_in_pieces_with_other_words_between_is_understood() -> None:
    body = json.dumps({"checks": [{"repo": "r", "id": "i", "check": "c"}]}).encode()
    head = b"NATS/1.0\r\nA: b\r\n\r\n"
    message = b"HMSG INBOX 1 reply %d %d\r\n%b%b\r\n" % (len(head), len(head) + len(body), head, body)
    said = b"+OK\r\nPING\r\nINFO {}\r\nMSG other 9 2\r\n{}\r\n" + message
    async with listening(saying(said[:31], said[31:70], said[70:])) as url:
        ran = await run_hook("PreToolUse", APPLY, "--server", url, "--budget-ms", "5000")
    assert ran.told.splitlines()[1:] == ["- [r:i] c"]
