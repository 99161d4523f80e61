"""Answers by a language model of OpenAI or of anything that speaks its ``/v1/chat/completions`` (OpenRouter, Groq,
Ollama, vLLM, llama.cpp, LM Studio ...), word by word as they are written.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx

from recalld.episodes.answerer import Completion, Prompt, Say
from recalld.errors import ConfigError, DependencyError
from recalld_plugins.chat_stream import Events, Reply, ReplyError, spoken
from recalld_plugins.options import check_options
from recalld_plugins.remote import Counter, Endpoint, PassingError, Sleep, checked_header, find_key, passes, patiently

OPTIONS = (
    "model", "base_url", "key", "key_file", "keyless", "temperature", "timeout_s", "idle_timeout_s", "token_limit",
    "limit_field", "headers", "tokenizer",
)  # fmt: skip
SETTING = "ask.answerer_options"
LIMIT_FIELDS = ("max_tokens", "max_completion_tokens")
_LONGEST_TOKEN = 20
"""Characters. Tokens have four on average; a text with more than so many times its tokens was not kept to its limit."""
_SPARE = 2_000
_ERROR_BYTES = 4_096
_LOCAL_NAMES = (".localhost", ".local", ".lan", ".internal", ".home.arpa")


@dataclass(frozen=True, slots=True)
class Chat:
    """How a model is asked. ``temperature`` None: the server's; ``token_limit`` None: as each prompt says."""

    endpoint: Endpoint
    headers: Mapping[str, str] = field(repr=False)
    temperature: float | None = 0.0
    timeout_s: float = 60.0
    idle_timeout_s: float = 30.0
    token_limit: int | None = None
    limit_field: str = LIMIT_FIELDS[0]


class OpenAIAnswerer:
    """A language model behind an HTTP API. Nothing is asked before the first completion."""

    def __init__(self, chat: Chat, counter: Counter, sleep: Sleep = anyio.sleep) -> None:
        self._chat = chat
        self._counter = counter
        self._sleep = sleep
        timeout = httpx.Timeout(chat.idle_timeout_s, connect=min(10.0, chat.idle_timeout_s))
        self._client = httpx.AsyncClient(timeout=timeout, headers=chat.headers)

    @property
    def name(self) -> str:
        """Provider, model, and those settings by which it answers otherwise."""
        chat = self._chat
        at = chat.endpoint.url.partition("://")[2].removesuffix("/chat/completions")
        heat = "" if chat.temperature == 0 else f" temperature={chat.temperature}"
        limit = "" if chat.token_limit is None else f" limit={chat.token_limit}"
        return f"openai:{chat.endpoint.model}@{at}{heat}{limit}"

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return an upper estimate of each text's tokens, or exactly those of the tokenizer that the options name."""
        return self._counter.count(texts)

    async def complete(self, prompt: Prompt, say: Say | None = None) -> Completion:
        """Have the model write; what fails before its first word was passed on is tried again while that may help.

        Raises ConfigError (key, model or address refused), DependencyError (anything else that goes wrong).
        """
        passed_on = _PassedOn(say)
        until = anyio.current_time() + self._chat.timeout_s
        with anyio.move_on_after(self._chat.timeout_s):
            return await patiently(self._chat.endpoint, lambda: self._attempt(prompt, passed_on), self._sleep, until)
        raise self._failure(f"did not finish within {self._chat.timeout_s:g} s")

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _attempt(self, prompt: Prompt, passed_on: _PassedOn) -> Completion:
        endpoint = self._chat.endpoint
        most = self._chat.token_limit or prompt.most
        reply = Reply(most * _LONGEST_TOKEN + _SPARE)
        try:
            async with self._client.stream("POST", endpoint.url, json=self._body(prompt, most)) as response:
                if response.status_code != 200:
                    raise endpoint.refusal(response, await _beginning(response))
                await self._read(response, reply, passed_on)
        except httpx.ReadTimeout:
            raise self._failure(f"said nothing for {self._chat.idle_timeout_s:g} s") from None
        except httpx.HTTPError as error:
            if passed_on.begun:
                raise self._failure(f"breaks off: {type(error).__name__}") from error
            raise
        except ReplyError as error:
            if passes(error.status) and not passed_on.begun:
                raise PassingError(f"error {error.status}") from None
            raise self._failure(endpoint.masked(str(error))) from None
        text = spoken(reply.text)
        return Completion(text, reply.finished, reply.usage or self._counted(prompt, reply.text))

    async def _read(self, response: httpx.Response, reply: Reply, passed_on: _PassedOn) -> None:
        """Read a stream until the server says that it was all. Raises ReplyError, httpx.HTTPError."""
        events = Events()
        async for piece in response.aiter_bytes():
            for data in events.feed(piece):
                if reply.take(data):
                    await passed_on.take(spoken(reply.text))
                if reply.ended:
                    return
        for data in events.end():
            reply.take(data)
        if not reply.ended:
            kind = response.headers.get("Content-Type", "no content type")
            raise ReplyError(f"sends a stream without an end ({kind})")

    def _body(self, prompt: Prompt, most: int) -> dict[str, Any]:
        heat = {} if self._chat.temperature is None else {"temperature": self._chat.temperature}
        return {
            "model": self._chat.endpoint.model,
            "messages": [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
            self._chat.limit_field: most,
            "stream": True,
            "stream_options": {"include_usage": True},
            **heat,
        }

    def _counted(self, prompt: Prompt, text: str) -> int:
        return sum(self._counter.count([prompt.system, prompt.user, text]))

    def _failure(self, what: str) -> DependencyError:
        endpoint = self._chat.endpoint
        return DependencyError(
            f"{endpoint.name} at {endpoint.url} {what}", suggestion="check the provider's status and the network"
        )


class _PassedOn:
    """The words of a completion as they go on to who waits for them."""

    def __init__(self, say: Say | None) -> None:
        self._say = say
        self._length = 0

    @property
    def begun(self) -> bool:
        """Tell whether somebody has seen a word."""
        return self._length > 0

    async def take(self, text: str) -> None:
        """Pass on what is new of a text."""
        if self._say is not None and len(text) > self._length:
            new, self._length = text[self._length :], len(text)
            await self._say(new)


def answerer(options: Mapping[str, Any]) -> OpenAIAnswerer:
    """Return an answerer; ``options`` are ``ask.answerer_options`` of the settings, listed in docs/ask.md.

    Raises ConfigError.
    """
    check_options("openai", options, OPTIONS, SETTING)
    if not options.get("model"):
        raise ConfigError(f"{SETTING}.model is not set", suggestion="name a model that the server knows")
    base = str(options.get("base_url", "https://api.openai.com/v1")).rstrip("/")
    address = _address(base)
    local = address.scheme == "http" and _is_local(address.host)
    headers = _headers(options.get("headers", {}))
    keyless = options.get("keyless", False)
    if not isinstance(keyless, bool):
        raise ConfigError(f"{SETTING}.keyless is {keyless!r}", suggestion="true or false")
    key = "" if keyless else find_key(options, "openai", "OPENAI_API_KEY", SETTING)
    _check_secrets(bool(key), bool(headers), keyless, address, local)
    endpoint = Endpoint(
        "openai", str(options["model"]), f"{base}/chat/completions", "answer", SETTING, (key, *headers.values())
    )
    limit = options.get("token_limit")
    chat = Chat(
        endpoint,
        {**headers, **({"Authorization": f"Bearer {key}"} if key else {})},
        None if options.get("temperature") == "default" else _number(options, "temperature", 0.0, 0.0, 2.0),
        _number(options, "timeout_s", 60.0, 0.001, 3_600),
        _number(options, "idle_timeout_s", 30.0, 0.001, 3_600),
        None if limit is None else int(_number(options, "token_limit", 0, 1, 1_000_000)),
        _limit_field(options),
    )
    file = options.get("tokenizer")
    return OpenAIAnswerer(chat, Counter(Path(file) if file else None, f"{SETTING}.tokenizer"))


def _address(base: str) -> httpx.URL:
    try:
        address = httpx.URL(base)
    except httpx.InvalidURL as error:
        raise ConfigError(f"{SETTING}.base_url: {error}", suggestion="https://HOST/v1") from None
    if address.userinfo or address.query or address.fragment:
        raise ConfigError(
            f"{SETTING}.base_url has more than host, port and path",
            suggestion="a key belongs into key_file, the systemd credential openai or OPENAI_API_KEY",
        )
    if address.scheme not in ("http", "https") or not address.host:
        raise ConfigError(f"{SETTING}.base_url {base} is no web address", suggestion="https://HOST/v1")
    return address


def _check_secrets(key: bool, headers: bool, keyless: bool, address: httpx.URL, local: bool) -> None:
    """Raise ConfigError where a key is missing, or where one would go over the net for all to read."""
    if (key or headers) and address.scheme == "http" and not local:
        raise ConfigError(
            f"a key would be sent to {address.host} in the clear",
            suggestion=f"use https in {SETTING}.base_url, or keyless without headers where the server needs none",
        )
    if not (key or headers or keyless or local):
        raise ConfigError(
            "there is no key for openai",
            suggestion=f"set OPENAI_API_KEY, {SETTING}.key_file, the systemd credential openai, or keyless = true",
        )


def _is_local(host: str) -> bool:
    """Tell whether a host is this machine or in a private net, by its looks: nothing is looked up."""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith(_LOCAL_NAMES)


def _headers(given: object) -> dict[str, str]:
    if not isinstance(given, Mapping):
        raise ConfigError(f"{SETTING}.headers is no table", suggestion='headers = { "X-Title" = "recalld" }')
    names = {str(name): str(value) for name, value in given.items()}
    for name, value in names.items():
        checked_header(value, f"{SETTING}.headers.{name}")
        if not name.isascii() or not name.replace("-", "").replace("_", "").isalnum():
            raise ConfigError(f"{SETTING}.headers: {name!r} is no name of a header")
    return names


def _number(options: Mapping[str, Any], name: str, default: float, least: float, most: float) -> float:
    try:
        value = float(options.get(name, default))
    except (TypeError, ValueError):
        raise ConfigError(f"{SETTING}.{name} is no number", suggestion=f"{least:g} to {most:g}") from None
    if not least <= value <= most:
        raise ConfigError(f"{SETTING}.{name} is {value:g}", suggestion=f"{least:g} to {most:g}")
    return value


def _limit_field(options: Mapping[str, Any]) -> str:
    name = str(options.get("limit_field", LIMIT_FIELDS[0]))
    if name not in LIMIT_FIELDS:
        raise ConfigError(f"{SETTING}.limit_field is {name}", suggestion=f"there are {' and '.join(LIMIT_FIELDS)}")
    return name


async def _beginning(response: httpx.Response) -> str:
    """Return the first of what a server says to an error."""
    said = b""
    async for piece in response.aiter_bytes():
        said += piece
        if len(said) >= _ERROR_BYTES:
            break
    return said[:_ERROR_BYTES].decode("utf-8", "replace")
