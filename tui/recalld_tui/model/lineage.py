"""What replaced what, as a tree, and when each of it held, as a timeline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from recalld.bus import wire
from recalld_tui.model.text import line


@dataclass(frozen=True, slots=True)
class Branch:
    """A line of the tree: how deep, the document (or the name of one that is not here), and who says so."""

    depth: int
    path: str
    kin: wire.KinView | None
    said: str
    again: bool
    """It stands further up already: a circle, or two that replaced the same."""


def tree(reply: wire.LineageReply) -> list[Branch]:
    """Return the newest documents first, below each what it replaced."""
    kin = {each.path: each for each in reply.kin}
    below: dict[str, dict[str, list[wire.ReplacedView]]] = {}
    replaced: set[str] = set()
    for link in reply.replaced:
        newer = link.new if link.new is not None else link.name
        below.setdefault(newer, {}).setdefault(link.old, []).append(link)
        replaced.add(link.old)
    roots = [path for path in (*kin, *(path for path in below if path not in kin)) if path not in replaced]
    seen: set[str] = set()

    def walk(path: str, depth: int, said: str) -> Iterator[Branch]:
        again = path in seen
        seen.add(path)
        yield Branch(depth, line(path), kin.get(path), said, again)
        if not again:
            for old, links in sorted(below.get(path, {}).items()):
                yield from walk(old, depth + 1, _said(links))

    branches = [branch for root in sorted(roots) for branch in walk(root, 0, "")]
    return branches + [branch for path in kin if path not in seen for branch in walk(path, 0, "")]


def _said(links: list[wire.ReplacedView]) -> str:
    """Say who claims that one replaced the other, and since when the memory knows."""
    by = sorted({link.by for link in links})
    since = min((link.said_since for link in links if link.said_since), default=None)
    words = "both say so" if len(by) > 1 else f"{line(by[0])} says so"
    return f"{words}, known since {since:%Y-%m-%d}" if since else words


@dataclass(frozen=True, slots=True)
class Span:
    """A document's window on a timeline of ``width`` columns: first and last column, and whether an end is open."""

    path: str
    verdict: str
    first: int
    last: int
    opened: str
    closed: str


def timeline(reply: wire.LineageReply, now: datetime, width: int) -> tuple[list[Span], int]:
    """Return when each document held, and the column of now; a window ends where its successor's begins."""
    starts = {each.path: each.valid_from or each.known_since or now for each in reply.kin}
    ends = {each.path: each.valid_until for each in reply.kin}
    for link in reply.replaced:
        if link.new in starts and link.old in ends:
            end, other = ends[link.old], starts[link.new]
            ends[link.old] = min(end, other) if end is not None else other
    moments = [*starts.values(), *(end for end in ends.values() if end is not None), now]
    begin, length = min(moments), max((max(moments) - min(moments)).total_seconds(), 1.0)

    def column(moment: datetime) -> int:
        return round((moment - begin).total_seconds() / length * (width - 1))

    spans = []
    for each in sorted(reply.kin, key=lambda each: (starts[each.path], each.path)):
        start, end = starts[each.path], ends[each.path]
        last = column(end) if end is not None else width - 1
        spans.append(
            Span(
                line(each.path),
                each.verdict,
                column(start),
                max(column(start), last),
                f"{start:%Y-%m-%d}",
                f"{end:%Y-%m-%d}" if end is not None else "",
            )
        )
    return spans, column(now)
