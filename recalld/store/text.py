"""Any Python string in Postgres text and back.

Postgres text holds neither NUL nor lone surrogates, but files do: in their contents, and in names that are no UTF-8,
which Python reads with ``surrogateescape``. Each such character is stored as one character of the last private plane,
so that lengths and wildcards stay meaningful; a character that is really from there gets a mark before it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

_NUL = "\U0010f7fe"
_MARK = "\U0010f7ff"
_SHIFT = 0x10F800 - 0xD800
"""U+D800 to U+DFFF become U+10F800 to U+10FFFF."""
_UNSTORABLE = re.compile("[\x00\ud800-\udfff\U0010f7fe-\U0010ffff]")
_STORED = re.compile(f"{_MARK}(.)|[{_NUL}\U0010f800-\U0010ffff]", re.DOTALL)
_PLANE = b"\xf4\x8f"
"""How each of the characters used here begins in UTF-8."""


def escape(text: str) -> str:
    """Return a string that Postgres can hold; :func:`unescape` gives back the same."""
    return _UNSTORABLE.sub(_stored, text)


def unescape(text: str) -> str:
    """Return the string that was escaped."""
    return _STORED.sub(_original, text)


def _stored(match: re.Match[str]) -> str:
    char = match[0]
    if char == "\x00":
        return _NUL
    return chr(ord(char) + _SHIFT) if char <= "\udfff" else _MARK + char


def _original(match: re.Match[str]) -> str:
    if match[1] is not None:
        return match[1]
    return "\x00" if match[0] == _NUL else chr(ord(match[0]) - _SHIFT)


def encode(text: str) -> bytes:
    """Return a string as Postgres receives it."""
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        return escape(text).encode()
    return escape(text).encode() if 0 in raw or _PLANE in raw else raw


def decode(raw: bytes) -> str:
    """Return a string that Postgres sent."""
    text = raw.decode()
    return unescape(text) if _PLANE in raw else text


def escape_all(texts: Iterable[str]) -> list[str]:
    """Return strings as an argument of type text[], whose elements asyncpg encodes by itself."""
    return [escape(text) for text in texts]


def unescape_all(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the strings of a column of type text[]."""
    return tuple(unescape(text) for text in texts)


def encode_json(value: Any) -> str:
    """Return JSON that jsonb can hold. Numbers that JSON has no word for become text, and so does what is no JSON."""
    return json.dumps(_storable(value), ensure_ascii=False, allow_nan=False)


def decode_json(text: str) -> Any:
    """Return the value of stored JSON."""
    value = json.loads(text)
    return _restored(value) if _STORED.search(text) else value


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return escape(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if isinstance(value, Mapping):
        return {escape(str(key)): _storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_storable(item) for item in value]
    return escape(str(value))


def _restored(value: Any) -> Any:
    if isinstance(value, str):
        return unescape(value)
    if isinstance(value, dict):
        return {unescape(key): _restored(item) for key, item in value.items()}
    return [_restored(item) for item in value] if isinstance(value, list) else value
