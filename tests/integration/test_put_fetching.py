"""Fetching from a real server that behaves badly, and names that lead where they must not."""

from __future__ import annotations

import gzip
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream

from recalld.errors import DeadlineError, FetchError, RecalldError, RefusedError, TooLargeError, UsageError
from recalld.put.converted import Fetched
from recalld.settings import PutSettings
from recalld_plugins.web.fetch import fetch
from tests.support.web import WebServer, answer, certificate_for, redirect, web_server


@pytest.fixture
async def web() -> AsyncIterator[WebServer]:
    async with web_server() as server:
        yield server


async def get(url: str, **limits: Any) -> Fetched:
    return await fetch(url, PutSettings(allow_private=True, **limits))


async def test_a_page_comes_with_its_type_and_where_it_was_in_the_end(web: WebServer) -> None:
    web.answers = {
        "/": redirect("/a%20b?x=1", "308 Permanent Redirect"),
        "/a%20b?x=1": answer(b"<p>hello", 'Text/HTML; charset="utf-8"', headers={"Set-Cookie": "a=b"}),
    }
    found = await get(f"{web.url}#part")
    assert found == Fetched(f"{web.url}/a%20b?x=1", "text/html", "utf-8", b"<p>hello")
    assert f"Host: 127.0.0.1:{web.port}" in web.asked[0]


async def test_no_cookie_no_proxy_and_no_password_is_sent(web: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    web.answers = {
        "/": answer(b"", status="302 Found", headers={"Location": "/next", "Set-Cookie": "session=1; Path=/"}),
        "/next": answer(b"text", "text/plain"),
    }
    assert (await get(web.url)).content == b"text"
    assert not any("cookie" in head.casefold() or "authorization" in head.casefold() for head in web.asked)
    with pytest.raises(RefusedError, match="credentials"):
        await get(web.url.replace("//", "//me:secret@"))


async def test_what_is_packed_is_unpacked_and_a_bomb_is_not(web: WebServer) -> None:
    packed = gzip.compress(b"one ") + gzip.compress(b"two")
    bomb = gzip.compress(b"\0" * 50_000_000)
    as_gzip = {"Content-Encoding": "gzip"}
    web.answers = {
        "/two": answer(packed, "text/plain", headers=as_gzip),
        "/bomb": answer(bomb, "text/plain", headers=as_gzip),
        "/cut": answer(packed[:-4], "text/plain", headers=as_gzip),
        "/lie": answer(b"not packed", "text/plain", headers=as_gzip),
        "/brotli": answer(packed, "text/plain", headers={"Content-Encoding": "br"}),
        "/twice": answer(packed, "text/plain", headers={"Content-Encoding": "gzip, gzip"}),
    }
    assert (await get(f"{web.url}/two")).content == b"one two"
    assert len(bomb) < 100_000
    with pytest.raises(TooLargeError, match="more than 100000 bytes"):
        await get(f"{web.url}/bomb", max_bytes=100_000)
    for path in ("cut", "lie", "brotli", "twice"):
        with pytest.raises(FetchError):
            await get(f"{web.url}/{path}")


async def endless(stream: SocketStream) -> None:
    await stream.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
    while True:
        await stream.send(b"more and more " * 1_000)


async def dripping(stream: SocketStream) -> None:
    await stream.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\n")
    while True:
        await stream.send(b".")
        await anyio.sleep(0.05)


async def dripping_head(stream: SocketStream) -> None:
    await stream.send(b"HTTP/1.1 200 OK\r\nX: ")
    while True:
        await stream.send(b"x")
        await anyio.sleep(0.05)


async def nothing(stream: SocketStream) -> None:
    await stream.receive()


@pytest.mark.parametrize(
    ("body", "error", "says"),
    [
        (endless, TooLargeError, "more than 100000 bytes"),
        (dripping, DeadlineError, "longer than 1 s"),
        (dripping_head, DeadlineError, "longer than 1 s"),
        (nothing, DeadlineError, "longer than 1 s"),
        (answer(b"short", headers={"Content-Length": "500"}), FetchError, "cannot be fetched from"),
        (answer(b"x", headers={"Content-Length": "500000"}), TooLargeError, "has 500000 bytes"),
        (answer(b"x", headers={"Content-Length": "-1"}), FetchError, "cannot be fetched from"),
        (answer(b"x", headers={"X": "y" * 300_000}), FetchError, "cannot be fetched from"),
        (b"SSH-2.0-OpenSSH\r\n", FetchError, "cannot be fetched from"),
        (answer(b"gone", status="410 Gone"), FetchError, "answers 410"),
        (answer(b"", status="204 No Content"), FetchError, "answers 204"),
        (redirect("/"), FetchError, "more than 5 times"),
        (redirect("file:///etc/passwd"), RefusedError, "only http, https"),
        (redirect("http://me:secret@127.0.0.1/"), RefusedError, "credentials"),
        (redirect("http://[::1"), FetchError, "cannot be fetched from"),
        (redirect("/a\\\\b"), FetchError, "what is no URL"),
    ],
)
async def test_bad_answers_are_named(
    web: WebServer, body: bytes | Callable[[SocketStream], Awaitable[None]], error: type[RecalldError], says: str
) -> None:
    web.answers["/"] = body
    with pytest.raises(error, match=says):
        await get(web.url, max_seconds=1, max_bytes=100_000)


async def test_nobody_there(web: WebServer) -> None:
    with pytest.raises(FetchError, match="cannot be fetched from"):
        await get("http://127.0.0.1:1/")
    with pytest.raises(FetchError, match="not known"):
        await get("http://nonesuch.invalid/")
    with pytest.raises(UsageError):
        await get("http:///nowhere")


def names(**hosts: Sequence[str]) -> Callable[[str, int], Awaitable[Sequence[str]]]:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return hosts[host.partition(".")[0]]

    return resolve


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/", "http://127.1/", "http://2130706433/", "http://0x7f.1/", "http://0/", "http://localhost/",
        "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://[64:ff9b::7f00:1]/", "http://169.254.169.254/latest/",
        "http://10.0.0.1/", "http://100.64.0.1/", "http://[fe80::1]/", "http://[fd00::1]/", "http://224.0.0.1/",
    ],
)  # fmt: skip
async def test_what_is_not_public_is_refused(url: str) -> None:
    with pytest.raises(RefusedError, match="not public"):
        await fetch(url, PutSettings())


async def test_one_private_address_among_public_ones_is_enough() -> None:
    resolve = names(mixed=("93.184.215.14", "192.168.0.1"))
    with pytest.raises(RefusedError, match="not public: private"):
        await fetch("http://mixed.example/", PutSettings(), resolve)


async def test_a_redirect_to_a_private_address_is_refused_and_nobody_is_asked(
    web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test's server stands for a public one: its address alone is let through."""
    monkeypatch.setattr("recalld_plugins.web.fetch.refusal", lambda ip: "" if ip == "127.0.0.1" else "private")
    web.answers = {"/": redirect(f"http://inside.example:{web.port}/secret"), "/secret": answer(b"secret")}
    resolve = names(outside=("127.0.0.1",), inside=("127.0.0.2",))
    with pytest.raises(RefusedError, match=r"inside\.example"):
        await fetch(f"http://outside.example:{web.port}/", PutSettings(), resolve)
    assert len(web.asked) == 1


async def test_a_name_that_changes_its_mind_is_asked_once_and_connected_to_as_checked(
    web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first answer of the DNS is checked and used, the second (private) never asked for."""
    monkeypatch.setattr("recalld_plugins.web.fetch.refusal", lambda ip: "" if ip == "127.0.0.1" else "private")
    told = iter([["127.0.0.1"], ["10.0.0.1"]])

    async def resolve(host: str, port: int) -> Sequence[str]:
        return next(told)

    web.answers["/"] = answer(b"public")
    found = await fetch(f"http://rebinding.example:{web.port}/", PutSettings(), resolve)
    assert found.content == b"public"
    assert f"Host: rebinding.example:{web.port}" in web.asked[0]
    with pytest.raises(RefusedError):
        await fetch(f"http://rebinding.example:{web.port}/", PutSettings(), resolve)


async def test_an_address_that_is_down_gives_way_to_the_next(web: WebServer) -> None:
    web.answers["/"] = answer(b"up")
    resolve = names(two=("127.0.0.9", "127.0.0.1"))
    found = await fetch(f"http://two.example:{web.port}/", PutSettings(allow_private=True), resolve)
    assert found.content == b"up"


async def test_tls_is_spoken_to_the_name_and_not_to_the_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pem = certificate_for("wiki.example", tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pem)
    asked_for: list[str] = []
    context.sni_callback = lambda connection, name, own: asked_for.append(name)
    monkeypatch.setattr("certifi.where", lambda: str(pem))
    resolve = names(wiki=("127.0.0.1",), other=("127.0.0.1",))
    async with web_server(context) as server:
        server.answers["/"] = answer(b"behind TLS")
        found = await fetch(f"https://wiki.example:{server.port}/", PutSettings(allow_private=True), resolve)
        assert found.content == b"behind TLS"
        assert asked_for == ["wiki.example"] and f"Host: wiki.example:{server.port}" in server.asked[0]
        with pytest.raises(FetchError, match="CERTIFICATE_VERIFY_FAILED"):
            await fetch(f"https://other.example:{server.port}/", PutSettings(allow_private=True), resolve)
