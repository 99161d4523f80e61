"""What a repo says of its own files: ``.recall.toml``, and ``recall.sources.json`` as other tools left it.

Both are plain data about paths inside the repo. Nothing in them is run or opened, a pattern that leads elsewhere is a
finding, and what cannot be read leaves the defaults standing.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from pathspec import GitIgnoreSpec

from recalld.ingest.keys import folded
from recalld.ingest.kinds import kind_named, kind_of
from recalld.model import Finding, Severity

TOML, JSON = ".recall.toml", "recall.sources.json"
FILES = (TOML, JSON)
"""Where a repo speaks of its files, at its root."""
LIGHTEST, HEAVIEST = 0.0, 10.0
"""Weights are kept between these; a source of weight 0 never fires."""
_KIND = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_HINT = "see docs/sources.md for what may stand there"


@dataclass(frozen=True, slots=True)
class Sources:
    """A repo's files by kind.

    ``kinds`` are patterns (gitignore syntax) of kinds, the first that matches counts; ``paragraphs`` are rules whose
    paragraphs, not sections, stand each alone; ``weights`` what a kind's guardrails count against others.
    ``folder`` is where lessons are written, and ``proposed`` says that those of agents wait to be accepted.
    """

    kinds: tuple[tuple[str, GitIgnoreSpec], ...] = ()
    paragraphs: GitIgnoreSpec = field(default_factory=lambda: GitIgnoreSpec.from_lines(()))
    weights: Mapping[str, float] = field(default_factory=dict)
    folder: str = "lessons"
    proposed: bool = False

    def kind_of(self, path: str) -> str:
        """Return the kind of the file at a path, as the repo maps it or by its name and folders."""
        return next((kind for kind, spec in self.kinds if spec.match_file(path)), None) or kind_of(path)

    def weight(self, kind: str) -> float:
        """Return what the guardrails of a kind count, 1 where nothing is said."""
        return self.weights.get(kind, 1.0)


def sources_of(files: Mapping[str, str]) -> Sources:
    """Return what a repo's own files say, given their texts by name."""
    return _read(files.get(TOML), files.get(JSON))[0]


def findings_of(path: str, text: str) -> tuple[Finding, ...]:
    """Return what is wrong with one of the files at its path in the repo."""
    _, faults = _read(text if path == TOML else None, text if path == JSON else None)
    return tuple(
        Finding("", path, "source-config", Severity.ERROR, message, _HINT) for name, message in faults if name == path
    )


@lru_cache(maxsize=256)
def _read(toml: str | None, plain: str | None) -> tuple[Sources, tuple[tuple[str, str], ...]]:
    reader = _Reader()
    if toml is not None:
        reader.toml(toml)
    if plain is not None:
        reader.json(plain)
    return reader.sources(), tuple(reader.faults)


class _Reader:
    """Takes in what the files say, the first word on anything counts; keeps what is wrong with them."""

    def __init__(self) -> None:
        self.faults: list[tuple[str, str]] = []
        self._kinds: list[tuple[str, list[str]]] = []
        self._paragraphs: list[str] = []
        self._weights: dict[str, float] = {}
        self._folder, self._proposed = "lessons", False
        self._file = ""

    def sources(self) -> Sources:
        kinds = tuple((kind, GitIgnoreSpec.from_lines(patterns)) for kind, patterns in self._kinds)
        paragraphs = GitIgnoreSpec.from_lines(self._paragraphs)
        return Sources(kinds, paragraphs, self._weights, self._folder, self._proposed)

    def toml(self, text: str) -> None:
        """Read ``[sources]`` (kind to patterns, ``paragraphs``), ``[weights]`` (kind to number) and ``[lessons]``."""
        self._file = TOML
        said = self._loaded(tomllib.loads, text)
        known: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
            "sources": self._sources, "weights": self._weigh, "lessons": self._lessons,
        }  # fmt: skip
        for key, value in said.items():
            if key not in known:
                self._fault(f"{key!r} is not known")
            elif not isinstance(value, dict):
                self._fault(f"{key!r} is no table")
            else:
                known[key](value)

    def json(self, text: str) -> None:
        """Read ``rules`` and ``paragraphs`` (patterns), ``skills_dir`` (a folder) and ``weights`` (kind to number)."""
        self._file = JSON
        said = self._loaded(json.loads, text)
        self._map("rule", said.get("rules"))
        paragraphs = self._patterns("paragraphs", said.get("paragraphs"))
        self._paragraphs += paragraphs
        self._kinds.append(("rule", paragraphs))
        folders = self._patterns("skills_dir", said.get("skills_dir"))
        self._kinds.append(("skill", [f"{folder.rstrip('/')}/**" for folder in folders]))
        weights = said.get("weights", {})
        if isinstance(weights, dict):
            self._weigh(weights)
        else:
            self._fault("'weights' is no object")

    def _loaded(self, load: Callable[[str], Any], text: str) -> Mapping[str, Any]:
        try:
            said = load(text)
        except (ValueError, RecursionError) as error:
            self._fault(f"it cannot be read: {error}")
            return {}
        if isinstance(said, dict):
            return said
        self._fault("it is no object")
        return {}

    def _sources(self, said: Mapping[str, Any]) -> None:
        for key, value in said.items():
            if key == "paragraphs":
                found = self._patterns(key, value)
                self._paragraphs += found
                self._kinds.append(("rule", found))
            else:
                self._map(key, value)

    def _map(self, word: str, value: Any) -> None:
        kind = kind_named(word) or folded(word)
        if not _KIND.fullmatch(kind):
            self._fault(f"{word!r} is no kind")
            return
        self._kinds.append((kind, self._patterns(word, value)))

    def _weigh(self, said: Mapping[str, Any]) -> None:
        for word, value in said.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not LIGHTEST <= value <= HEAVIEST:
                self._fault(f"weight of {word!r}: {value!r} is no number from {LIGHTEST:g} to {HEAVIEST:g}")
            else:
                self._weights.setdefault(kind_named(word) or word, float(value))

    def _lessons(self, said: Mapping[str, Any]) -> None:
        for key, value in said.items():
            if key == "proposed" and isinstance(value, bool):
                self._proposed = value
            elif key == "folder" and isinstance(value, str) and _is_inside(value):
                self._folder = value.strip("/")
            else:
                self._fault(f"lessons.{key}: {value!r} cannot be")

    def _patterns(self, key: str, value: Any) -> list[str]:
        found = []
        for item in _items(value):
            if isinstance(item, str) and _is_inside(item):
                found.append(f"/{item}" if self._file == JSON and "/" not in item else item)
            else:
                self._fault(f"{key}: {item!r} is no pattern of paths inside the repo")
        return found

    def _fault(self, message: str) -> None:
        self.faults.append((self._file, message[:300]))


def _items(value: Any) -> Iterator[Any]:
    """Yield what a key lists: one text, a list, or objects that name a ``path`` or ``glob``."""
    if isinstance(value, list):
        for item in value:
            yield from _items(item)
    elif isinstance(value, dict):
        yield value.get("path", value.get("glob", value))
    elif value is not None:
        yield value


def _is_inside(pattern: str) -> bool:
    """Tell whether a pattern is one of paths in the repo: relative, going nowhere up, one line of text."""
    pure = PurePosixPath(pattern.lstrip("!"))
    clean = pattern.strip() and len(pattern) <= 500 and pattern.isprintable() and "\\" not in pattern
    return bool(clean) and not pure.is_absolute() and ".." not in pure.parts and not re.match(r"[A-Za-z]:", pattern)
