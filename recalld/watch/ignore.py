"""One rule set for scan, watch and verbs: which paths of a repo belong to the memory.

Layers, the last that speaks of an entry wins: built-in outputs, ``.git/info/exclude``, each ``.gitignore`` from the
root down, each ``.recallignore`` from the root down, built-in private files, the repo's ``exclude`` (where
``!pattern`` XX
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from re import Pattern

from pathspec import GitIgnoreSpec

from recalld.watch import defaults

RULE_FILES = (".gitignore", ".recallignore")
"""Files whose change can move other files in or out."""
_DIRECTORY_MARK = "ps_d"
_DIRECTORIES_BELOW = re.compile(r"(?<=/)\*\*/\s*$")
"""``a/**/`` is every directory below ``a`` to git, and ``a`` itself to pathspec."""
_MAX_RULE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Patterns:
    """Gitignore patterns of one source, the last first; ``base`` is the directory that they are relative to.

    ``base`` is "" or ends in a slash. ``any`` matches whatever one of them may speak of, since most paths are of none.
    """

    base: str
    compiled: tuple[tuple[Pattern[str], bool], ...]
    any: Pattern[str]

    @classmethod
    def parse(cls, lines: Iterable[str], base: str = "") -> Patterns:
        """Compile lines; one that is no pattern says nothing, as in git."""
        spec = GitIgnoreSpec.from_lines(_DIRECTORIES_BELOW.sub("**/*/", _composed(line)) for line in lines)
        found = [(_anchored(p.regex), bool(p.include)) for p in reversed(list(spec.patterns)) if p.regex is not None]
        unnamed = (regex.pattern.replace(f"?P<{_DIRECTORY_MARK}>", "?:") for regex, _ in found)
        return cls(base, tuple(found), re.compile("|".join(f"(?:{pattern})" for pattern in unnamed)))

    def verdict(self, path: str, is_dir: bool) -> bool | None:
        """Return True for ignored, False for brought back, None where no pattern speaks of the entry itself.

        What pathspec says of an entry because of its parents does not count: parents were judged before.
        """
        inner = path[len(self.base) :]
        if not self.any.match(f"{inner}/" if is_dir else inner):
            return None
        for regex, ignored in self.compiled:
            if _matches(regex, inner, is_dir):
                return ignored
        return None


def _anchored(regex: Pattern[str]) -> Pattern[str]:
    """Return a pattern that may be searched for (``*/`` is one) as one that matches from the start."""
    return regex if regex.pattern.startswith("^") else re.compile(f"^.*{regex.pattern}", regex.flags)


def _matches(regex: Pattern[str], path: str, is_dir: bool) -> bool:
    marked = _DIRECTORY_MARK in regex.groupindex
    match = regex.match(path)
    if match is not None and not (marked and match.group(_DIRECTORY_MARK)):
        return True
    if not (is_dir and marked):
        return False
    match = regex.match(path + "/")
    return match is not None and match.end(_DIRECTORY_MARK) == len(path) + 1


def _no_wait(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def is_private(name: str, is_dir: bool) -> bool:
    """Tell whether a name is that of a secret, a binary or an editor's scratch file."""
    name = name.casefold()
    if is_dir:
        return name in defaults.PRIVATE_DIRECTORIES
    return (
        name in defaults.PRIVATE_NAMES
        or name.startswith(defaults.PRIVATE_STARTS)
        or name.endswith(defaults.PRIVATE_ENDS)
        or (name.startswith("#") and name.endswith("#"))
    )


def is_output(name: str, is_dir: bool) -> bool:
    """Tell whether a name is that of something that tools make."""
    name = name.casefold()
    if is_dir:
        return name in defaults.OUTPUT_DIRECTORIES or name.endswith(".egg-info")
    return name in defaults.OUTPUT_FILES or name.endswith(defaults.OUTPUT_SUFFIXES)


def is_archive(path: str) -> bool:
    """Tell whether a directory is one that lessons are put away in."""
    *above, name = path.casefold().split("/")
    lessons, archive = defaults.ARCHIVES
    return name == archive and lessons in above


@dataclass(slots=True)
class Rules:
    """The rules of one repo as its ignore files stand now; make a new one when those change.

    Reads a directory's ignore files when that directory is first asked about; two threads may then read them twice.
    ``unreadable`` names ignore files that could not be read and why, ``sources`` those that were, with time and size.
    """

    root: Path
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    unreadable: dict[str, str] = field(default_factory=dict)
    sources: dict[str, tuple[int, int]] = field(default_factory=dict)
    _include: Patterns | None = None
    _exclude: Patterns | None = None
    _layers: dict[str, tuple[tuple[Patterns, ...], tuple[Patterns, ...]]] = field(default_factory=dict)
    _directories: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._include = Patterns.parse(self.include) if self.include else None
        self._exclude = Patterns.parse(self.exclude) if self.exclude else None

    def ignores(self, path: str, *, is_dir: bool = False) -> bool:
        """Tell whether a repo-relative path is out, because of itself or of a directory above it."""
        return self._parent_ignored(path) or self.ignores_below(path, is_dir=is_dir)

    def ignores_below(self, path: str, *, is_dir: bool = False) -> bool:
        """Tell the same for an entry whose parent directories are known to be in."""
        name = path.rpartition("/")[2]
        if name.casefold() in defaults.ALWAYS:
            return True
        verdict = self._verdict(path, name, is_dir)
        if verdict or is_dir:
            return bool(verdict)
        return not self._included(_composed(path))

    def protects(self, path: str, *, is_dir: bool = False) -> bool:
        """Tell whether a path is out for good reason: version control or private, here or above."""
        *above, name = path.split("/")
        return any(part.casefold() in defaults.ALWAYS or is_private(part, True) for part in above) or (
            name.casefold() in defaults.ALWAYS or is_private(name, is_dir)
        )

    def _verdict(self, path: str, name: str, is_dir: bool) -> bool | None:
        git, recall = self._layers_of(path.rpartition("/")[0])
        path = _composed(path)
        verdict = self._exclude.verdict(path, is_dir) if self._exclude else None
        if verdict is not None:
            return verdict
        if is_private(name, is_dir):
            return True
        for layer in (*reversed(recall), *reversed(git)):
            verdict = layer.verdict(path, is_dir)
            if verdict is not None:
                return verdict
        return is_output(name, is_dir) or (is_dir and is_archive(path)) or None

    def _included(self, path: str) -> bool:
        """Tell whether the file, or a directory above it, is among the included."""
        if self._include is None:
            return True
        verdict = self._include.verdict(path, False)
        while verdict is None and "/" in path:
            path = path.rpartition("/")[0]
            verdict = self._include.verdict(path, True)
        return bool(verdict)

    def _parent_ignored(self, path: str) -> bool:
        parent = path.rpartition("/")[0]
        if not parent:
            return False
        known = self._directories.get(parent)
        if known is None:
            known = self.ignores(parent, is_dir=True)
            self._directories[parent] = known
        return known

    def _layers_of(self, directory: str) -> tuple[tuple[Patterns, ...], tuple[Patterns, ...]]:
        layers = self._layers.get(directory)
        if layers is None:
            git, recall = self._layers_of(directory.rpartition("/")[0]) if directory else (self._info_exclude(), ())
            base = f"{directory}/" if directory else ""
            layers = (git + self._read(base, ".gitignore", base), recall + self._read(base, ".recallignore", base))
            self._layers[directory] = layers
        return layers

    def _info_exclude(self) -> tuple[Patterns, ...]:
        return self._read("", ".git/info/exclude", "")

    def _read(self, directory: str, name: str, base: str) -> tuple[Patterns, ...]:
        path = directory + name
        try:
            with open(os.path.join(self.root, path), encoding="utf-8-sig", errors="replace", opener=_no_wait) as stream:
                found = os.fstat(stream.fileno())
                lines = stream.read(_MAX_RULE_BYTES).splitlines()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return ()
        except OSError as error:
            self.unreadable[path] = error.strerror or str(error)
            return ()
        self.sources[path] = found.st_mtime_ns, found.st_size
        patterns = Patterns.parse(lines, _composed(base))
        return (patterns,) if patterns.compiled else ()
