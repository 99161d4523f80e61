"""A local server that speaks ``/v1/embeddings`` as OpenAI and Voyage do, well or badly."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Respond = Callable[[int, dict[str, Any]], tuple[int, dict[str, str], bytes]]
"""From the number of the request and its body to status, headers and body."""


def good(number: int, body: dict[str, Any], dimension: int = 8) -> tuple[int, dict[str, str], bytes]:
    rows = [
        {"index": index, "embedding": [float((len(text) + axis) % 5 + 1) for axis in range(dimension)]}
        for index, text in enumerate(body["input"])
    ]
    return 200, {}, json.dumps({"data": rows[::-1], "model": body["model"]}).encode()


@dataclass
class Api:
    url: str = ""
    respond: Respond = good
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)


@contextmanager
def embeddings_api(respond: Respond = good) -> Iterator[Api]:
    """Serve on a free port until the end."""
    api = Api(respond=respond)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            api.requests.append(body)
            api.keys.append(self.headers["Authorization"])
            status, headers, content = api.respond(len(api.requests), body)
            if status == 0:
                self.connection.close()
                return
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            with contextlib.suppress(BrokenPipeError):  # the client did not wait
                self.wfile.write(content)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Tests are quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    api.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield api
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
