"""The feed of events: kept to a number, filtered, and each file's way from the disk into the index."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from recalld.bus import wire
from recalld_tui.model.text import clean, clock_time, cut, line, milliseconds

KEPT = 5_000
"""Events that can be scrolled back to."""
FILES_KEPT = 50
ENDS = ("indexed", "deleted", "failed", "skipped", "quarantined")
"""Topics with which a file's way ends."""
SEEN = "seen and queued"
"""Both in one moment: what the watcher sees it puts into the queue."""


@dataclass(slots=True)
class Feed:
    """The newest events, and those of them that ``words`` ask for: each word must stand in topic, place or facts."""

    words: tuple[str, ...] = ()
    kept: deque[wire.Event] = field(default_factory=lambda: deque(maxlen=KEPT))
    shown: deque[wire.Event] = field(default_factory=lambda: deque(maxlen=KEPT))
    total: int = 0
    passed: int = 0
    """Events that passed the filter since it was set, also those that are not kept any more."""
    version: int = 0
    """Goes up whenever something else is shown."""

    def add(self, event: wire.Event) -> None:
        """Take an event."""
        self.total += 1
        self.kept.append(event)
        if self._passes(event):
            self.passed += 1
            self.version += 1
            self.shown.append(event)

    def filter(self, text: str) -> None:
        """Show only what has all words of a text."""
        self.words = tuple(text.lower().split())
        self.shown = deque((event for event in self.kept if self._passes(event)), maxlen=KEPT)
        self.passed = len(self.shown)
        self.version += 1

    def _passes(self, event: wire.Event) -> bool:
        if not self.words:
            return True
        said = f"{event.topic} {place(event)} {facts(event)} {event.node}".lower()
        return all(word in said for word in self.words)


def place(event: wire.Event) -> str:
    """Return what an event is about, as ``repo:path``, or a job's name."""
    data = event.data
    if "path" in data:
        return line(f"{data.get('repo', '')}:{data['path']}")
    return line(str(data.get("repo") or data.get("name") or ""))


def facts(event: wire.Event, width: int = 200) -> str:
    """Return the other facts in one line."""
    told = ("repo", "path") if "path" in event.data or "repo" in event.data else ("name",)
    rest = ((key, value) for key, value in event.data.items() if key not in told and value is not None)
    return cut(" ".join(f"{key}={_fact(value)}" for key, value in rest), width)


def detail(event: wire.Event) -> list[tuple[str, str]]:
    """Return every fact of an event with its name."""
    rows = [("topic", event.topic), ("at", event.at.isoformat()), ("node", event.node)]
    rows += [("seq", str(event.seq))] if event.seq is not None else []
    return [(name, clean(value)) for name, value in (*rows, *((k, _fact(v)) for k, v in event.data.items()))]


def _fact(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_fact(each)}" for name, each in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_fact, value))
    return f"{value:.3f}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a file's way: what, when, and how long after the step before (None for the first)."""

    name: str
    at: datetime
    after: timedelta | None

    @property
    def words(self) -> str:
        """Return the first step with its time of day, each other one with how much later it was."""
        if self.after is None:
            return f"{self.name} at {clock_time(self.at)}"
        return f"{self.name} {milliseconds(self.after.total_seconds() * 1_000)} later"


@dataclass(slots=True)
class Journey:
    """A file's newest way: ``seen`` on disk and queued at once, ended as indexed or otherwise, found by a search."""

    repo: str
    path: str
    outcome: str
    seen: datetime | None = None
    ended: datetime | None = None
    recallable: datetime | None = None
    seq: int = 0

    def steps(self) -> list[Step]:
        """Return the steps that are known."""
        named = [(SEEN, self.seen), (self.outcome, self.ended), ("recallable", self.recallable)]
        result: list[Step] = []
        for name, at in named:
            if at is not None:
                result.append(Step(name, at, at - result[-1].at if result else None))
        return result

    @property
    def lag_s(self) -> float | None:
        """Return how long it took from seen to its end (seconds)."""
        return (self.ended - self.seen).total_seconds() if self.seen and self.ended else None


class Journeys:
    """The newest files that were saved, newest last."""

    def __init__(self) -> None:
        self._by_file: OrderedDict[tuple[str, str], Journey] = OrderedDict()

    def add(self, event: wire.Event) -> Journey | None:
        """Take an event; return the way that it is a step of, None for one about no file.

        Of one that comes from the history nobody can say when it became recallable.
        """
        data = event.data
        if event.topic not in ENDS or "path" not in data:
            return None
        key = (str(data.get("repo", "")), str(data["path"]))
        lag, live = data.get("lag_s"), event.seq is None
        seen = event.at - timedelta(seconds=float(lag)) if isinstance(lag, int | float) else None
        journey = Journey(*key, event.topic, seen, event.at, seq=_number(data.get("seq")) if live else 0)
        self._by_file.pop(key, None)
        self._by_file[key] = journey
        if len(self._by_file) > FILES_KEPT:
            self._by_file.popitem(last=False)
        return journey

    def answered(self, seq: int, at: datetime) -> None:
        """Note that a search that waited for ingest sequence ``seq`` has been answered."""
        for journey in self._by_file.values():
            if journey.recallable is None and 0 < journey.seq <= seq:
                journey.recallable = at

    @property
    def waiting(self) -> int:
        """Return the greatest sequence that no search has confirmed yet, 0 where there is none."""
        return max((way.seq for way in self._by_file.values() if way.recallable is None), default=0)

    def newest(self, count: int) -> Iterable[Journey]:
        """Return the newest ways, newest first."""
        return list(reversed(self._by_file.values()))[:count]


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
