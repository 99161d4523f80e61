"""JSON files of others: a value put in and taken out where it stands, every other byte as it was. Pure.

What :func:`removed` leaves after :func:`inserted` is the text from before, however odd its layout. The text alone shows
whether a container was made for the value: one that was there and empty has the value right after its bracket, one that
was made has space between.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recalld.cli import hook_settings
from recalld.errors import RefusedError

Step = str | int | None
"""A member's key, an element's place, or None for a new element at the end of a list."""

SPACE = " \t\r\n"
_SPACES = re.compile(f"[{SPACE}]*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class _Item:
    """A member or element: where it starts, where its value does, where both end."""

    key: str | None
    start: int
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class _Container:
    """An object or a list: the place after its opening bracket, and what is in it."""

    inside: int
    items: Sequence[_Item]


def read(text: str | None) -> dict[str, Any]:
    """Return the object that a file holds; a missing or blank one holds nothing. Raises RefusedError."""
    if text is None or not text.strip(SPACE):
        return {}
    if not text.strip():
        raise RefusedError("no JSON: blank, with odd spaces", suggestion="mend the file first; it is left as it is")
    return hook_settings.read(text, "JSON that can be changed")


def inserted(text: str | None, path: Sequence[Step], value: Any) -> str:
    """Return the text with a value at ``path``, in the place of what stands there. Raises RefusedError."""
    read(text)
    if text is None or not text.strip(SPACE):
        return ("" if text is None else text + "\n") + _made(path, value, "\n", "  ") + "\n"
    at = _root(text)
    item = None
    for depth, step in enumerate(path):
        container = _container(text, at, "[" if step is None else "{", path[:depth])
        item = next((each for each in container.items if step is not None and each.key == step), None)
        if item is None:
            return _added(text, container, path[depth:], value)
        at = item.value
    assert item is not None
    return text[: item.value] + _made((), value, _lead(text, item.start), _unit(text)) + text[item.end :]


def removed(text: str, path: Sequence[str | int]) -> str | None:
    """Return the text without what stands at ``path``, and without the containers that were made for it.

    None where the whole file was.
    """
    while path:
        container, place = _found(text, path)
        item, others = container.items[place], len(container.items) - 1
        if others and place == others:
            return text[: container.items[place - 1].end] + text[item.end :]
        if others:
            return text[: item.start] + text[container.items[place + 1].start :]
        if item.start == container.inside:
            return text[: item.start] + text[item.end :]
        path = path[:-1]
    before = text[: _root(text)]
    return before.removesuffix("\n") if before else None


def _added(text: str, container: _Container, path: Sequence[Step], value: Any) -> str:
    """Put a new item at the end of a container that is there."""
    if not container.items:
        return text[: container.inside] + _item(path, value, "", _unit(text)) + text[container.inside :]
    last = container.items[-1]
    lead = _lead(text, last.start)
    return text[: last.end] + "," + lead + _item(path, value, lead, _unit(text)) + text[last.end :]


def _item(path: Sequence[Step], value: Any, lead: str, unit: str) -> str:
    key = "" if path[0] is None else f"{json.dumps(path[0])}: "
    return key + _made(path[1:], value, lead, unit)


def _made(path: Sequence[Step], value: Any, lead: str, unit: str) -> str:
    """Return a value in the containers of ``path``; ``lead`` is the space before the line it begins on."""
    line = ("\r\n" if "\r\n" in lead else "\n") + lead.rpartition("\n")[2]
    many = "\n" in lead
    if not path:
        return json.dumps(value, indent=unit).replace("\n", line) if many else json.dumps(value)
    opening, closing = "[]" if path[0] is None else "{}"
    inner = line + unit if many else " "
    return opening + inner + _item(path, value, inner, unit) + (line if many else " ") + closing


def _found(text: str, path: Sequence[str | int]) -> tuple[_Container, int]:
    """Return the container of what is at ``path``, which must be there, and its place in it."""
    at, place = _root(text), 0
    for depth, step in enumerate(path):
        container = _container(text, at, "{" if isinstance(step, str) else "[", path[:depth])
        place = next(n for n, item in enumerate(container.items) if step in (item.key, n))
        at = container.items[place].value
    return container, place


def _container(text: str, at: int, opening: str, path: Sequence[Step]) -> _Container:
    """Return the container that begins at ``at``, which must be one. Raises RefusedError."""
    if text[at] != opening:
        name = json.dumps(path[-1]) if path else "it"
        raise RefusedError(
            f"{name} is no {'object' if opening == '{' else 'list'}",
            suggestion="mend the file first; it is left as it is",
        )
    items: list[_Item] = []
    here = _skip(text, at + 1)
    while text[here] not in "]}":
        start, key = here, None
        if opening == "{":
            key, here = _DECODER.raw_decode(text, here)
            here = _skip(text, _skip(text, here) + 1)
        value = here
        _, end = _DECODER.raw_decode(text, here)
        items.append(_Item(key, start, value, end))
        here = _skip(text, end)
        if text[here] == ",":
            here = _skip(text, here + 1)
    return _Container(at + 1, items)


def _root(text: str) -> int:
    return _skip(text, 0)


def _skip(text: str, at: int) -> int:
    found = _SPACES.match(text, at)
    assert found is not None
    return found.end()


def _lead(text: str, at: int) -> str:
    """Return the space before a place."""
    return text[len(text[:at].rstrip(SPACE)) : at]


def _unit(text: str) -> str:
    """Return by what the file is indented; two spaces where nothing shows it."""
    root = _container(text, _root(text), "{", ())
    lead = _lead(text, root.items[0].start) if root.items else ""
    return lead.rpartition("\n")[2] or "  "
