"""A local server that speaks ``/v1/chat/completions`` with server-sent events, well or badly."""

from __future__ import annotations

import json
import re
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LONGEST_S = 20.0
"""How long a server holds on to a request that nothing ends."""


@dataclass
class Request:
    """One request: its body, its headers, and ``closed`` once the client has hung up on it."""

    number: int
    body: dict[str, Any]
    headers: dict[str, str]
    closed: threading.Event = field(default_factory=threading.Event)

    @property
    def system(self) -> str:
        return str(self.body["messages"][0]["content"])

    @property
    def user(self) -> str:
        return str(self.body["messages"][1]["content"])

    @property
    def asked(self) -> str:
        """What kind of prompt it is, of those in recalld.episodes.answerer."""
        if "An earlier answer:" in self.user:
            return "reconciling"
        return "answering" if "Passages:" in self.user else "imagining" if "passage that answers" in self.user else "?"


class Line:
    """The connection to one client, to write on and to see it go."""

    def __init__(self, handler: BaseHTTPRequestHandler, request: Request, over: threading.Event) -> None:
        self._handler = handler
        self._request = request
        self._over = over

    def head(self, status: int = 200, kind: str = "text/event-stream", **headers: str) -> None:
        self._handler.send_response(status)
        for name, value in {"Content-Type": kind, "Connection": "close", **headers}.items():
            self._handler.send_header(name.replace("_", "-"), value)
        self._handler.end_headers()

    def write(self, text: str) -> bool:
        """Write; tell whether the client was there to take it."""
        try:
            self._handler.wfile.write(text.encode())
            self._handler.wfile.flush()
        except OSError:
            self._request.closed.set()
            return False
        return True

    def event(self, **event: Any) -> bool:
        return self.write(f"data: {json.dumps(event)}\n\n")

    def words(self, text: str) -> bool:
        return self.event(choices=[{"index": 0, "delta": {"content": text}, "finish_reason": None}])

    def end(self, reason: str = "stop", tokens: int | None = 321) -> None:
        self.event(choices=[{"index": 0, "delta": {}, "finish_reason": reason}])
        if tokens is not None:
            self.event(
                choices=[], usage={"prompt_tokens": tokens - 21, "completion_tokens": 21, "total_tokens": tokens}
            )
        self.write("data: [DONE]\n\n")

    def until_closed(self, longest_s: float = LONGEST_S) -> bool:
        """Say nothing until the client hangs up, the test is over or the time is; tell whether the client is there."""
        until = time.monotonic() + longest_s
        while not self._over.is_set() and time.monotonic() < until:
            ready, _, _ = select.select([self._handler.connection], [], [], 0.02)
            if ready and not _peek(self._handler.connection):
                self._request.closed.set()
                return False
        return not self._over.is_set()


def _peek(connection: socket.socket) -> bytes:
    try:
        return connection.recv(1, socket.MSG_PEEK)
    except OSError:
        return b""


Respond = Callable[[Request, Line], None]


def saying(text: str, reason: str = "stop", tokens: int | None = 321) -> Respond:
    """Answer with a text, word by word."""

    def respond(request: Request, line: Line) -> None:
        line.head()
        for word in re.findall(r"\s*\S+", text):
            line.words(word)
        line.end(reason, tokens)

    return respond


def raw(body: str, status: int = 200, kind: str = "text/event-stream", **headers: str) -> Respond:
    """Answer with exactly this."""

    def respond(request: Request, line: Line) -> None:
        line.head(status, kind, **headers)
        line.write(body)

    return respond


def hanging_up(request: Request, line: Line) -> None:
    """Close the connection without a word."""


def stalling(*words: str) -> Respond:
    """Say some words and then nothing more."""

    def respond(request: Request, line: Line) -> None:
        line.head()
        for word in words:
            line.words(word)
        line.until_closed()

    return respond


def citing(path: str, text: str, reason: str = "stop") -> Respond:
    """Answer with a text in which ``{n}`` is the number of the passage of a path."""

    def respond(request: Request, line: Line) -> None:
        found = re.search(rf"^\[(\d+)\] \S+:{re.escape(path)}:", request.user, re.MULTILINE)
        saying(text.format(n=found[1] if found else "98"), reason)(request, line)

    return respond


def slowly(word: str = "on and ", pause_s: float = 0.05) -> Respond:
    """Write a word now and then until nobody reads it."""

    def respond(request: Request, line: Line) -> None:
        line.head()
        while line.words(word) and line.until_closed(pause_s):
            pass

    return respond


def endless(word: str = "on and ") -> Respond:
    """Write until nobody reads it."""

    def respond(request: Request, line: Line) -> None:
        line.head()
        while line.words(word):
            pass

    return respond


def in_turn(*responds: Respond) -> Respond:
    """Answer each request in another way; the last way is that of all further ones."""

    def respond(request: Request, line: Line) -> None:
        responds[min(request.number, len(responds)) - 1](request, line)

    return respond


def by_kind(**responds: Respond) -> Respond:
    """Answer each kind of prompt in its own way."""

    def respond(request: Request, line: Line) -> None:
        responds[request.asked](request, line)

    return respond


@dataclass
class ChatApi:
    """The server: how it responds now, and what it was asked."""

    url: str = ""
    respond: Respond = field(default_factory=lambda: saying("Nothing."))
    requests: list[Request] = field(default_factory=list)

    @property
    def asked(self) -> list[str]:
        return [request.asked for request in self.requests]


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def handle_error(self, *arguments: Any) -> None:
        """A client that hangs up is what some tests are about."""


@contextmanager
def chat_api(respond: Respond | None = None) -> Iterator[ChatApi]:
    """Serve on a free port until the end."""
    api = ChatApi(**({"respond": respond} if respond is not None else {}))
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            request = Request(len(api.requests) + 1, body, {"path": self.path, **dict(self.headers.items())})
            api.requests.append(request)
            api.respond(request, Line(self, request, over))
            self.close_connection = True

        def log_message(self, format: str, *arguments: Any) -> None:
            """Tests are quiet."""

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    api.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield api
    finally:
        over.set()
        server.shutdown()
        thread.join()
        server.server_close()
