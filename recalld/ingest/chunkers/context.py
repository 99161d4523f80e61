"""The line of title and headings that a chunk is embedded with, and the room that it leaves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from recalld.ingest.chunkers.meter import Meter

MAX_SHARE = 3
"""Title and headings take at most this part (a third) of a chunk."""
MAX_TITLE_CHARS = 120
MAX_HEADING_CHARS = 80
MAX_HEADINGS = 4
"""The innermost headings that are embedded."""
SEPARATOR = " \u203a "


class Contexts:
    """The context lines of one document. ``paths`` are the heading paths that it has, with their sizes measured."""

    def __init__(self, title: str, paths: Iterable[tuple[str, ...]], budget: int, meter: Meter) -> None:
        self._title = title
        self._budget = budget
        self._special = meter.special
        known = list(dict.fromkeys(path[:depth] for path in paths for depth in range(len(path) + 1)))
        sizes = meter.parts([_joined(title, path) for path in known])
        self._sizes = dict(zip(known, sizes, strict=True))
        self.least_room = min((self.room(path) for path in known), default=budget - self._special)

    def room(self, path: tuple[str, ...]) -> int:
        """Return how many tokens of text fit into a chunk below these headings."""
        return self._budget - self._special - min(self._sizes[path], self._budget // MAX_SHARE)

    def line(self, path: tuple[str, ...], text: str) -> str:
        """Return the context of a text below these headings; a title that the text begins with is not said twice."""
        title = "" if text.lstrip("# \n").startswith(self._title) else self._title
        line = _joined(title, path if path[:1] != (self._title,) else path[1:])
        size = self._sizes.get(path, 0)
        most = self._budget // MAX_SHARE
        return line if size <= most else line[: len(line) * most // size].rstrip()


def _joined(title: str, path: Sequence[str]) -> str:
    parts = [title[:MAX_TITLE_CHARS], *(part[:MAX_HEADING_CHARS] for part in path[-MAX_HEADINGS:])]
    return SEPARATOR.join(part for part in parts if part)
