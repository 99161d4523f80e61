"""Fetching a URL for somebody else, without letting it reach what only this machine can.

Each name is resolved once, all its addresses are looked at, and the connection goes to one of these very addresses, so
that a name that changes its mind in between gains nothing. Redirects are followed by hand, each as a new URL.
"""

from __future__ import annotations

import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from urllib.parse import urljoin

import anyio
import httpx

from recalld import __version__
from recalld.errors import DeadlineError, FetchError, RefusedError, TooLargeError, UsageError
from recalld.ingest.written import one_line
from recalld.put.addresses import refusal
from recalld.put.converted import Fetched
from recalld.put.urls import Target, target_of
from recalld.settings import PutSettings
from recalld_plugins.web.packing import body_of

CONNECT_S = 10.0
"""An address that does not answer for so long is given up for the next (seconds)."""
_HEADERS = {
    "User-Agent": f"recalld/{__version__}",
    "Accept": "text/html, text/markdown, text/plain, application/pdf;q=0.9, */*;q=0.1",
    "Accept-Encoding": "gzip",
}
_MOVED = frozenset({301, 302, 303, 307, 308})
_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the addresses of a host. Raises OSError."""


async def resolve(host: str, port: int) -> Sequence[str]:
    """Ask the system for a host's addresses."""
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


async def fetch(url: str, settings: PutSettings, resolve: Resolve = resolve) -> Fetched:
    """Return what a URL gives.

    Raises UsageError for what is no URL, RefusedError for where it must not lead, FetchError, TooLargeError and
    DeadlineError.
    """
    with anyio.move_on_after(settings.max_seconds):
        timeout = httpx.Timeout(settings.max_seconds, connect=min(CONNECT_S, settings.max_seconds))
        async with httpx.AsyncClient(trust_env=False, follow_redirects=False, timeout=timeout) as client:
            return await _followed(client, target_of(url, settings.schemes), settings, resolve)
    raise DeadlineError(f"fetching takes longer than {settings.max_seconds:g} s", suggestion="see put.max_seconds")


async def _followed(client: httpx.AsyncClient, target: Target, settings: PutSettings, resolve: Resolve) -> Fetched:
    for _ in range(settings.max_redirects + 1):
        client.cookies.clear()
        addresses = await _checked(target, settings, resolve)
        async with _answer(client, target, addresses) as response:
            if response.status_code not in _MOVED or "location" not in response.headers:
                return await _fetched(target, response, settings.max_bytes)
            target = _next(target, response.headers["location"], settings)
    raise FetchError(f"the URL leads on more than {settings.max_redirects} times", suggestion="see put.max_redirects")


def _next(target: Target, location: str, settings: PutSettings) -> Target:
    try:
        return target_of(urljoin(target.url, location), settings.schemes)
    except (UsageError, ValueError) as error:
        raise FetchError(f"{target.host} leads on to what is no URL", suggestion="see it in a browser") from error


async def _checked(target: Target, settings: PutSettings, resolve: Resolve) -> Sequence[str]:
    """Return the addresses of a host. Raises RefusedError where any of them is not public, FetchError for none."""
    try:
        addresses = await resolve(target.host, target.port)
    except OSError as error:
        raise FetchError(f"{target.host} is not known: {error.strerror}", suggestion="see how it is written") from error
    if not addresses:
        raise FetchError(f"{target.host} has no address")
    for why in () if settings.allow_private else map(refusal, addresses):
        if why:
            raise RefusedError(f"the address of {target.host} is not public: {why}", suggestion=_PRIVATE)
    return addresses


_PRIVATE = "save the page and put the file in, or set put.allow_private on the node that serves"


@asynccontextmanager
async def _answer(client: httpx.AsyncClient, target: Target, addresses: Sequence[str]) -> AsyncIterator[httpx.Response]:
    """Ask the first of the addresses that can be connected to. Raises FetchError."""
    response = await _asked(client, target, addresses)
    try:
        yield response
    except httpx.HTTPError as error:
        raise _broken(target, error) from error
    finally:
        await response.aclose()


async def _asked(client: httpx.AsyncClient, target: Target, addresses: Sequence[str]) -> httpx.Response:
    failure: httpx.HTTPError | None = None
    for address in addresses:
        place = httpx.URL(scheme=target.scheme, host=address, port=target.port, raw_path=target.path.encode())
        headers = {**_HEADERS, "Host": target.authority}
        request = client.build_request("GET", place, headers=headers, extensions={"sni_hostname": target.host})
        try:
            return await client.send(request, stream=True)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            failure = error
        except httpx.HTTPError as error:
            raise _broken(target, error) from error
    assert failure is not None
    raise _broken(target, failure) from failure


def _broken(target: Target, error: httpx.HTTPError) -> FetchError:
    what = str(error) or type(error).__name__
    return FetchError(f"{target.host} cannot be fetched from: {what}", suggestion="see it in a browser, or try again")


async def _fetched(target: Target, response: httpx.Response, most: int) -> Fetched:
    if response.status_code != httpx.codes.OK:
        raise FetchError(f"{target.host} answers {response.status_code}", suggestion="see it in a browser")
    length = response.headers.get("content-length", "")
    if length.isdecimal() and int(length) > most:
        raise TooLargeError(f"the document has {length} bytes, {most} are allowed", suggestion="see put.max_bytes")
    said = response.headers.get("content-type", "")
    charset = _CHARSET.search(said)
    content = await body_of(response.aiter_raw(), response.headers.get("content-encoding", ""), most)
    media_type = one_line(said.partition(";")[0]).casefold()
    return Fetched(target.url, media_type, charset[1] if charset else "", content)
