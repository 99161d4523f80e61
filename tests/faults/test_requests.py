"""Malformed and oversized requests: an error reply that says what to do, and a service that lives."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import nats
import pytest

from recalld.bus import subjects, wire
from tests.support.daemon import Daemon, running
from tests.support.directories import short_directory


@pytest.fixture(scope="module")
async def daemon(anyio_backend: str) -> AsyncIterator[Daemon]:
    with short_directory() as directory:
        async with running(directory / "state") as started:
            yield started


@pytest.mark.parametrize(
    ("verb", "body", "code"),
    [
        ("search", b"", "bad_request"),
        ("search", b"{", "bad_request"),
        ("search", b"\xff\xfe\x00", "bad_request"),
        ("search", b"null", "bad_request"),
        ("search", b"[]", "bad_request"),
        ("search", b"{}", "bad_request"),
        ("search", b'{"query": 7}', "bad_request"),
        ("search", b'{"query": "x", "k": 100000}', "bad_request"),
        ("search", b'{"query": "x", "colour": "red"}', "bad_request"),
        ("search", b'{"query": "\\u0000"}', None),
        ("search", b'{"query": "\\ud800"}', "bad_request"),
        ("search", b"[" * 60_000, "bad_request"),
        ("search", json.dumps({"query": "x" * 200_000}).encode(), "too_large"),
        ("get", b'{"ref": "no/such.md"}', "not_found"),
        ("get", b'{"ref": "99999999999999999999999999"}', "not_found"),
        ("delta", b'{"since": "nonsense"}', "bad_request"),
        ("repo.add", b'{"path": "/no/such/directory", "name": "a.b"}', "bad_request"),
    ],
)
async def test_a_bad_request_is_answered_by_name(daemon: Daemon, verb: str, body: bytes, code: str | None) -> None:
    connection = await nats.connect(daemon.credentials().url)
    try:
        message = await connection.request(subjects.request("tester", verb), body, timeout=10)
        reply = json.loads(message.data)
        if code is None:
            assert "error" not in reply
        else:
            assert reply["error"]["code"] == code
            assert reply["error"]["message"]
            assert (message.headers or {}).get("Nats-Service-Error")
        async with daemon.client() as client:
            assert (await client.health(wire.HealthRequest())).checks
    finally:
        await connection.close()
