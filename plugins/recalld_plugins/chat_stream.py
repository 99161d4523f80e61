"""A streamed chat completion, taken apart: server-sent events, and what they add up to. Pure.

Nothing that a server sends is believed to be of the right form; what is not raises ReplyError, in words.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

LONGEST_STREAM = 16 * 1024 * 1024
LONGEST_LINE = 1024 * 1024
"""Bytes of one answer, with all that is around its words, and of one line."""
MOST_TOKENS = 10_000_000
"""A usage beyond that is none."""
_END = "[DONE]"
_THINKS, _THOUGHT = "<think>", "</think>"


class ReplyError(Exception):
    """A server's reply is none. ``status`` is what it gives as its reason where that is an HTTP status."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Events:
    """Takes server-sent events apart, in whatever pieces they come."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []
        self._read = 0

    def feed(self, piece: bytes) -> list[str]:
        """Return the data of the events that a piece ends. Raises ReplyError for what is too long or no text."""
        self._read += len(piece)
        if self._read > LONGEST_STREAM:
            raise ReplyError("sends a stream that does not end")
        *lines, self._rest = (self._rest + piece).split(b"\n")
        if len(self._rest) > LONGEST_LINE:
            raise ReplyError("sends a line that does not end")
        return [event for line in lines if (event := self._line(line)) is not None]

    def end(self) -> list[str]:
        """Return the data of an event that the end of the stream ends."""
        return self.feed(b"\n\n") if self._rest or self._data else []

    def _line(self, line: bytes) -> str | None:
        """Take a line; return an event's data where it ends one."""
        try:
            text = line.rstrip(b"\r").decode()
        except UnicodeDecodeError:
            raise ReplyError("sends what is no text") from None
        if not text:
            data, self._data = self._data, []
            return "\n".join(data) if data else None
        if text.startswith("data:"):
            self._data.append(text[5:].removeprefix(" "))
        return None


@dataclass(slots=True)
class Reply:
    """What the events add up to. ``ended``: the server said that it was all; ``longest`` is in characters."""

    longest: int
    text: str = ""
    reason: str = ""
    usage: int = 0
    ended: bool = False
    _chosen: bool = False

    def take(self, data: str) -> str:
        """Take an event; return the words in it. Raises ReplyError."""
        if data.strip() == _END:
            self.ended = True
            if not self._chosen:
                raise ReplyError("sends a reply without choices")
            return ""
        event = _object(_parsed(data))
        if event.get("error"):
            raise _failure(event["error"])
        self._count(event.get("usage"))
        choices = event.get("choices") or []
        if not isinstance(choices, list):
            raise ReplyError("sends choices that are none")
        return self._choice(_object(choices[0])) if choices else ""

    def _choice(self, choice: dict[str, Any]) -> str:
        self._chosen = True
        reason = choice.get("finish_reason") or ""
        words = _object(choice.get("delta") or {}).get("content") or ""
        if not isinstance(reason, str) or not isinstance(words, str):
            raise ReplyError("sends words that are none")
        self.reason = reason or self.reason
        self.text += words
        if len(self.text) > self.longest:
            raise ReplyError(f"writes on and on: over {self.longest} characters")
        return words

    def _count(self, usage: object) -> None:
        """Take the tokens that a reply is said to have taken; what cannot be is left to be counted."""
        total = usage.get("total_tokens") if isinstance(usage, dict) else None
        if isinstance(total, int) and not isinstance(total, bool) and 0 < total <= MOST_TOKENS:
            self.usage = total

    @property
    def finished(self) -> bool:
        """Tell whether the model came to its end, and was not cut off, filtered or lost."""
        return self.ended and self.reason not in ("", "length", "max_tokens", "content_filter", "error")


def spoken(text: str) -> str:
    """Return what a model says, without the thoughts that some put before it; empty while it still thinks."""
    start = text.lstrip()
    if _THINKS.startswith(start[: len(_THINKS)]):
        return start.partition(_THOUGHT)[2].lstrip()
    return start


def _parsed(data: str) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise ReplyError("sends an event that is no JSON") from None


def _object(found: object) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ReplyError(f"sends {type(found).__name__} where an object belongs")
    return found


def _failure(error: object) -> ReplyError:
    code = error.get("code") if isinstance(error, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    status = code if isinstance(code, int) and 400 <= code < 600 else 0
    return ReplyError(f"breaks off with an error: {message}", status)
