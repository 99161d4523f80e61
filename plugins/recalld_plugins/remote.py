"""What plugins that ask an HTTP API share: the key, retries, errors that say what to do, and the counting of tokens."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import anyio
import httpx
from tokenizers import Tokenizer

from recalld.embed.minilm import packaged_tokenizer
from recalld.errors import ConfigError, DependencyError

log = logging.getLogger(__name__)

RETRIES = 4
BACKOFF_S = 0.5
LONGEST_WAIT_S = 60.0
MARGIN = 1.25
"""Tokens are counted with the packaged vocabulary, not the provider's: texts are taken for a quarter longer."""
SAID = 200
"""Characters of a server's own words that an error repeats."""
_PASSING = frozenset({408, 409, 425, 429})

R = TypeVar("R")
Sleep = Callable[[float], Awaitable[None]]


class PassingError(Exception):
    """The server has trouble that may pass; ``after`` is how long it wants to be left alone (seconds)."""

    def __init__(self, trouble: str, after: float | None = None) -> None:
        super().__init__(trouble)
        self.trouble = trouble
        self.after = after


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A provider's address, what it does there, the setting its options are under, and what must never be shown."""

    name: str
    model: str
    url: str
    does: str
    setting: str
    secrets: Sequence[str] = field(default=(), repr=False)

    def masked(self, text: str) -> str:
        """Return the beginning of what a server said, on one line, without secrets that it repeats."""
        for secret in filter(None, self.secrets):
            text = text.replace(secret, "********")
        return " ".join(text.split())[:SAID]

    def refusal(self, response: httpx.Response, said: str) -> Exception:
        """Return what an answer that is none means: PassingError, or the named error."""
        status = response.status_code
        if passes(status):
            return PassingError(f"HTTP {status}", retry_after(response))
        if status in (401, 403):
            return ConfigError(f"{self.name} refuses the key", suggestion=f"check {self.setting}.key or its file")
        if status == 404:
            return ConfigError(
                f"{self.name} knows no model {self.model} at {self.url}: {self.masked(said)}",
                suggestion=f"check {self.setting}.model and base_url",
            )
        return DependencyError(f"{self.name} refuses the request: HTTP {status}: {self.masked(said)}")


def passes(status: int) -> bool:
    """Tell whether trouble of an HTTP status may pass."""
    return status in _PASSING or status >= 500


async def patiently(
    endpoint: Endpoint, attempt: Callable[[], Awaitable[R]], sleep: Sleep = anyio.sleep, until: float = math.inf
) -> R:
    """Return what an attempt gives; attempt again while its trouble, httpx.HTTPError or PassingError, may pass.

    ``until`` is when it would be too late (anyio's clock). Raises DependencyError in the end, and as the attempt does.
    """
    pause = BACKOFF_S
    for number in range(RETRIES + 1):
        try:
            return await attempt()
        except httpx.HTTPError as error:
            trouble, wait = endpoint.masked(f"{type(error).__name__}: {error}"), pause
        except PassingError as error:
            trouble, wait = error.trouble, error.after or pause
        wait = min(wait, LONGEST_WAIT_S)
        if number == RETRIES or anyio.current_time() + wait >= until:
            break
        log.info("%s: %s, again in %.1f s", endpoint.name, trouble, wait)
        await sleep(wait)
        pause *= 2
    raise DependencyError(
        f"{endpoint.name} at {endpoint.url} does not {endpoint.does}: {trouble}",
        suggestion="check the provider's status and the network; it is tried again by itself",
    )


def read_key(options: Mapping[str, Any], credential: str, variable: str, setting: str = "embed.options") -> str:
    """Return the key from ``options.key``, ``options.key_file``, a systemd credential or the environment.

    Raises ConfigError when there is none, or when it has what no header can carry.
    """
    key = find_key(options, credential, variable, setting)
    if key:
        return key
    raise ConfigError(
        f"there is no key for {credential}",
        suggestion=f"set {variable}, {setting}.key_file, or the systemd credential {credential}",
    )


def find_key(options: Mapping[str, Any], credential: str, variable: str, setting: str) -> str:
    """Return the key as :func:`read_key` does, empty where there is none."""
    directory = os.environ.get("CREDENTIALS_DIRECTORY")
    if options.get("key"):
        key = str(options["key"])
    elif options.get("key_file"):
        key = _read(Path(options["key_file"]))
    elif directory and (Path(directory) / credential).exists():
        key = _read(Path(directory) / credential)
    else:
        key = os.environ.get(variable, "")
    return checked_header(key.strip(), f"the key for {credential} ({setting})")


def checked_header(value: str, what: str) -> str:
    """Return a header's value. Raises ConfigError, which does not show it, for one that no header can carry."""
    if value.isascii() and (value.isprintable() or not value):
        return value
    raise ConfigError(f"{what} has characters that no HTTP header can carry", suggestion="is it one line of text?")


def _read(place: Path) -> str:
    try:
        return place.read_text("utf-8")
    except OSError as error:
        raise ConfigError(f"{place} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise ConfigError(f"{place} is no text", suggestion="it should hold the key and nothing else") from None


def retry_after(response: httpx.Response) -> float | None:
    """Return how long a server wants to be left alone (seconds), where it says so in numbers."""
    try:
        seconds = float(response.headers["Retry-After"])
    except (KeyError, ValueError):
        return None
    return seconds if seconds >= 0 else None


class Counter:
    """Counts tokens, never too few: by the model's own ``tokenizer.json``, or by a quarter more than the packaged
    vocabulary makes."""

    def __init__(self, file: Path | None = None, setting: str = "") -> None:
        """Raise ConfigError for a file that is no tokenizer."""
        self._margin = MARGIN if file is None else 1.0
        self._tokenizer = packaged_tokenizer() if file is None else _tokenizer(file, setting)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return each text's tokens."""
        return [int(len(encoding) * self._margin) + 1 for encoding in self._tokenizer.encode_batch_fast(list(texts))]


def _tokenizer(file: Path, setting: str) -> Tokenizer:
    try:
        tokenizer = Tokenizer.from_str(file.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"{setting}: {file} cannot be read: {error.strerror}") from error
    except Exception as error:  # the library raises Exception itself
        raise ConfigError(f"{setting}: {file} is no tokenizer: {error}", suggestion="a tokenizer.json") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
