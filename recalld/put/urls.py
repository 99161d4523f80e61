"""URLs that may be fetched. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from recalld.errors import RefusedError, UsageError

LONGEST = 2_048
_PORTS = {"http": 80, "https": 443}
_NO_URL = re.compile(r"[\x00-\x20\x7f-\x9f\\]")
_IS_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_SAFE = "%/:=&?~+!$,;'@()*[]"


@dataclass(frozen=True, slots=True)
class Target:
    """What a URL says, as it is fetched: ``path`` is encoded and holds the query; ``host`` is ASCII."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """The host, with its port where that is not the usual one."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == _PORTS[self.scheme] else f"{name}:{self.port}"

    @property
    def url(self) -> str:
        """The URL in its one usual form, without a fragment."""
        return f"{self.scheme}://{self.authority}{self.path}"


def is_url(text: str) -> bool:
    """Tell a URL of any scheme from a file's path."""
    return _IS_URL.match(text) is not None


def target_of(url: str, schemes: Collection[str]) -> Target:
    """Take a URL apart. Raises UsageError for what is none, RefusedError for other schemes and for credentials."""
    if len(url) > LONGEST or _NO_URL.search(url):
        raise UsageError("this is no URL", suggestion=f"no spaces or backslashes, at most {LONGEST} characters")
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname or ""
    except ValueError as error:
        raise UsageError(f"this is no URL: {error}", suggestion="see how it is written") from error
    scheme = parts.scheme.lower()
    if scheme not in schemes or scheme not in _PORTS:
        raise RefusedError(
            f"{scheme or 'no scheme'}: only {', '.join(schemes)} are fetched", suggestion="see put.schemes"
        )
    if "@" in parts.netloc:
        raise RefusedError("the URL holds credentials", suggestion="they would stand in a file: leave them out")
    if port == 0:
        raise UsageError("this is no URL: port 0")
    path = quote(parts.path, safe=_SAFE) or "/"
    query = f"?{quote(parts.query, safe=_SAFE)}" if parts.query else ""
    return Target(scheme, _ascii(host), port or _PORTS[scheme], path + query)


def _ascii(host: str) -> str:
    """Return a host's name as the DNS has it. Raises UsageError for what is none."""
    try:
        name = host if ":" in host else host.encode("idna").decode()
    except UnicodeError as error:
        raise UsageError(f"{host!r} is no host", suggestion="see how it is written") from error
    if not name or re.search(r"[^A-Za-z0-9._:%-]", name):
        raise UsageError(f"{host!r} is no host", suggestion="see how it is written")
    return name.lower()
