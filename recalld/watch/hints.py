"""Where to look: what a change source found, and when many places are one big one.

A hint says only that something may have happened there. Kinds of events are dropped on purpose: sources get them wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

PER_DIRECTORY = 128
"""More changed paths than this in one directory mean: scan the directory (syncthing's number)."""


@dataclass(slots=True)
class Hints:
    """Paths of one repo to look at.

    ``stale`` are watched directories to which something happened themselves: their watch may be dead ("" is the root).
    ``lost`` means that there may be other changes, ``rules`` that ignore files changed, ``git`` that git did something.
    """

    paths: set[str] = field(default_factory=set)
    stale: set[str] = field(default_factory=set)
    lost: bool = False
    rules: bool = False
    git: bool = False

    def add(self, other: Hints) -> None:
        """Take in another source's or a later batch's hints."""
        self.paths |= other.paths
        self.stale |= other.stale
        self.lost |= other.lost
        self.rules |= other.rules
        self.git |= other.git

    def __bool__(self) -> bool:
        return bool(self.paths or self.stale) or self.lost or self.rules or self.git


def collapse(paths: Iterable[str], storm: int, per_directory: int = PER_DIRECTORY) -> tuple[set[str], set[str]]:
    """Split paths into those to look at one by one and directories to scan; "" is the root.

    More than ``storm`` paths are the root; more than ``per_directory`` in one directory are that directory.
    """
    single = set(paths)
    if len(single) > storm:
        return set(), {""}
    counts = Counter(path.rpartition("/")[0] for path in single)
    directories = topmost(directory for directory, count in counts.items() if count > per_directory)
    return {path for path in single if not is_below(path, directories)}, directories


def topmost(directories: Iterable[str]) -> set[str]:
    """Drop directories that lie below others of them."""
    kept: set[str] = set()
    for directory in sorted(directories, key=lambda path: (path.count("/"), len(path))):
        if directory not in kept and not is_below(directory, kept):
            kept.add(directory)
    return kept


def is_below(path: str, directories: Iterable[str]) -> bool:
    """Tell whether a path lies in one of the directories."""
    return any(not directory or path.startswith(f"{directory}/") for directory in directories)
