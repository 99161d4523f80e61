"""YAML to JSON values, with lines, without the traps.

Scalars stay text unless they are null, true, false, or numbers that print the same again, so that ``0161`` is no octal
113, ``3.10`` no 3.1 and ``2024-06-01`` no date object. Built from parser events: no recursion, no object tags, and
aliases count for all that they expand to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

MAX_NODES = 10_000
"""Values that a document may expand to, aliases followed."""
MAX_DEPTH = 32

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,14})")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_WORDS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_CORE_TAG = re.compile(r"tag:yaml\.org,2002:(?:str|int|float|bool|null|seq|map|set|timestamp|binary)|!")


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, and on which 1-based line of the text."""

    code: str
    line: int
    message: str
    key: str | None = None


class YamlError(Exception):
    """The text is no YAML, or more than recalld will expand."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


@dataclass(slots=True)
class Loaded:
    """A mapping, the 1-based line of each of its keys, and what was passed over."""

    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)


@dataclass(slots=True)
class _Open:
    """A collection that is being read; ``foreign`` ones have a tag that is not."""

    value: dict[str, Any] | list[Any]
    anchor: str | None
    begun: int
    key: str | None = None
    foreign: bool = False


def load(text: str) -> Loaded | None:
    """Read a document that is a mapping; None when it is something else. Raises YamlError."""
    return _Builder().build(text)


def scalar(text: str) -> Any:
    """Return what a plain scalar means: null, a truth value, a number that prints the same again, or text."""
    if text in _NULLS:
        return None
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    try:
        return float(text) if "." in text and len(text) < 18 and repr(float(text)) == text else text
    except ValueError:
        return text


class _Builder:
    def __init__(self) -> None:
        self._loaded = Loaded()
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._nodes = 0
        self._root: Any = None

    def build(self, text: str) -> Loaded | None:
        for event in _events(text):
            self._take(event)
            if isinstance(event, yaml.DocumentEndEvent):
                break
        return self._loaded if isinstance(self._root, dict) else None

    def _take(self, event: yaml.Event) -> None:
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.ScalarEvent):
            self._add(self._scalar(event, line), event.anchor, 1, line)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise YamlError(Fault("frontmatter-broken", line, f"*{event.anchor} refers to nothing complete"))
            value, size = self._anchors[event.anchor]
            self._add(value, None, size, line)
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            self._begin(event, line)
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            done = self._open.pop()
            self._add(None if done.foreign else done.value, done.anchor, self._nodes - done.begun, line, counted=True)

    def _begin(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent, line: int) -> None:
        foreign = not self._check_tag(event.tag, line)
        if len(self._open) >= MAX_DEPTH:
            raise YamlError(Fault("frontmatter-too-complex", line, f"values nest deeper than {MAX_DEPTH} levels"))
        value: dict[str, Any] | list[Any] = {} if isinstance(event, yaml.MappingStartEvent) else []
        self._open.append(_Open(value, event.anchor, self._nodes, foreign=foreign))
        self._count(1, line)

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> Any:
        if not self._check_tag(event.tag, line):
            return None
        plain = bool(event.implicit[0]) and event.tag is None
        is_key = bool(self._open) and isinstance(self._open[-1].value, dict) and self._open[-1].key is None
        return scalar(event.value) if plain and not is_key else event.value

    def _check_tag(self, tag: str | None, line: int) -> bool:
        if tag is None or _CORE_TAG.fullmatch(tag):
            return True
        key = self._open[0].key if self._open else None
        self._loaded.faults.append(Fault("frontmatter-tag", line, f"the tag {tag[:80]} is not read", key))
        return False

    def _count(self, nodes: int, line: int) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            raise YamlError(Fault("frontmatter-too-complex", line, f"aliases expand to more than {MAX_NODES} values"))

    def _add(self, value: Any, anchor: str | None, size: int, line: int, *, counted: bool = False) -> None:
        if not counted:
            self._count(size, line)
        if anchor:
            self._anchors[anchor] = (value, size)
        if not self._open:
            self._root = value
            return
        top = self._open[-1]
        if isinstance(top.value, list):
            top.value.append(value)
        elif top.key is None:
            top.key = self._key(value, line)
        else:
            self._store(top, value)

    def _key(self, value: Any, line: int) -> str:
        if isinstance(value, str):
            key = value
        else:
            key = str(value)[:80]
            self._loaded.faults.append(Fault("frontmatter-key", line, f"{key} is no name for a value", key))
        if len(self._open) == 1:
            if key in self._loaded.lines:
                first = self._loaded.lines[key]
                message = f"{key} stands here again after line {first}; the last one counts"
                self._loaded.faults.append(Fault("frontmatter-duplicate-key", line, message, key))
            self._loaded.lines[key] = line
        return key

    def _store(self, top: _Open, value: Any) -> None:
        assert isinstance(top.value, dict)
        assert top.key is not None
        top.value[top.key] = value
        if len(self._open) == 1:
            self._loaded.values[top.key] = value
        top.key = None


def _events(text: str) -> Iterator[yaml.Event]:
    try:
        yield from yaml.parse(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise YamlError(Fault("frontmatter-broken", line, _sentence(error))) from error
    except yaml.YAMLError as error:
        raise YamlError(Fault("frontmatter-broken", 1, str(error).splitlines()[0])) from error


def _sentence(error: yaml.MarkedYAMLError) -> str:
    return ", ".join(part for part in (error.context, error.problem) if part) or "this is no YAML"
