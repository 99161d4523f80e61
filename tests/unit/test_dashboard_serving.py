"""The dashboard in a browser hears its own pages alone."""

from __future__ import annotations

import pytest
from aiohttp.test_utils import TestClient, TestServer

from recalld_tui.serving import made


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", {}, 200),
        ("/", {"Host": "evil.example"}, 403),
        ("/", {"Host": "127.0.0.1:1"}, 403),
        ("/", {"Origin": "https://evil.example"}, 403),
        ("/ws", {}, 403),
        ("/ws", {"Origin": "null"}, 403),
        ("/ws", {"Origin": "https://evil.example"}, 403),
    ],
)
async def test_only_its_own_page_is_heard(path: str, headers: dict[str, str], status: int) -> None:
    async with TestClient(TestServer(await made([], "127.0.0.1", 8574)._make_app())) as client:
        reply = await client.get(path, headers={"Host": "127.0.0.1:8574", **headers})
        assert reply.status == status
        assert "default-src 'self'" in reply.headers["Content-Security-Policy"]
