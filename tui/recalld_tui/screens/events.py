"""Events: what happens now, and each saved file's way from the disk into answers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Input, Static

from recalld.bus import wire
from recalld_tui.inks import Inks
from recalld_tui.model.events import SEEN, Journey, detail
from recalld_tui.model.text import counted, cut_path, line
from recalld_tui.screens.page import Page
from recalld_tui.widgets.feed import FeedView
from recalld_tui.widgets.line import Line
from recalld_tui.widgets.panel import Inspector

SHOWN_WAYS = 6
ARROW = " → "
LOOK_S = 10.0
"""How long a search waits for a file that was just saved."""
READING_S = 1.0
"""How long the newest event and the newest saves stand, where others follow at once."""


class Events(Page):
    """Feed on the left, the event under the cursor and the newest saves on the right."""

    NAME = "events"
    FIRST = "list"
    EVERY_S: ClassVar[float] = 1.0
    BINDINGS: ClassVar[list[BindingType]] = [Binding("space", "pause", "Pause"), Binding("f", "newest", "Newest")]

    def __init__(self) -> None:
        super().__init__()
        self.paused = False
        self._told_at = -READING_S
        self._told: tuple[wire.Event | None, Inks] | None = None

    def body(self) -> Iterable[Widget]:
        """Lay out filter, feed and details."""
        yield Line(id="filter", placeholder="Filter: words that topic, place or facts have, as: failed decisions/")
        yield Static(id="summary", markup=False)
        with Horizontal(classes="halves"):
            yield FeedView(id="list")
            with Vertical(classes="stack"):
                yield Inspector("Event")
                yield Static(id="ways", markup=False, classes="panel")

    def on_mount(self) -> None:
        """Name the panel of saves."""
        super().on_mount()
        self.query_one("#ways").border_title = "Saves"

    async def load(self) -> None:
        """Find out by a search whether what was saved last is recallable by now."""
        journeys = self.dashboard.journeys
        seq = journeys.waiting
        if not seq:
            return
        newest = next(iter(journeys.newest(1)))
        words = PurePosixPath(newest.path).stem or newest.path
        await self.link.ask(
            lambda client: client.search(words[:200], k=1, min_seq=seq, receipt=False, deadline_ms=int(LOOK_S * 1_000))
        )
        journeys.answered(seq, self.dashboard.clock())

    def happened(self, events: list[wire.Event]) -> None:
        """Show what came in the feed; what is said of single events and files follows."""
        self._feed()
        self.poke()

    def draw(self) -> None:
        """Show the feed, and event and saves as often as one can read them."""
        self._feed()
        now = self.dashboard.monotonic()
        if self.paused or now - self._told_at >= READING_S:
            self._told_at = now
            self._about()
            self._ways()

    def _feed(self) -> None:
        feed, view = self.dashboard.feed, self.query_one(FeedView)
        if not self.paused and view.version != feed.version:
            view.show(list(feed.shown), feed.version)
        text = Text(f" {counted(feed.total, 'event')}", self.inks.dim, no_wrap=True, overflow="ellipsis")
        text.append(f", {feed.passed:,} shown" if feed.words else "")
        if self.paused:
            missed = feed.passed - self._passed
            text.append("  paused ", f"bold {self.inks.accent}").append(f" {missed:,} more since", self.inks.dim)
        self.put("summary", text)

    def _about(self) -> None:
        event = self.query_one(FeedView).current
        if self._told == (told := (event, self.inks)):
            return
        self._told = told
        grid = Table.grid(padding=(0, 2, 0, 0))
        for name, value in detail(event) if event is not None else ():
            grid.add_row(Text(line(name), self.inks.dim), Text(value))
        self.put("about", grid)

    def _ways(self) -> None:
        text, width = Text(), max(20, self.query_one("#ways").content_size.width)
        for way in self.dashboard.journeys.newest(SHOWN_WAYS):
            text.append(f"{cut_path(f'{way.repo}:{way.path}', width)}\n", self.inks.link)
            text.append_text(self._steps(way, width))
        text.rstrip()
        self.put("ways", text if text.plain else Text("no file was saved yet", self.inks.dim))

    def _steps(self, way: Journey, width: int) -> Text:
        """Tell the steps of a way, as many in a line as fit into it."""
        text, used = Text(), 0
        for number, step in enumerate(way.steps()):
            lead = ARROW if number else " " * len(ARROW)
            length = len(lead) + len(step.words)
            if number and used + length > width:
                text.append("\n")
                used = 0
            used += length
            text.append(lead, self.inks.dim).append(step.name, "" if step.name == SEEN else self.inks.word(step.name))
            text.append(step.words.removeprefix(step.name), self.inks.dim)
        return text.append("\n")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while typing."""
        event.stop()
        self.dashboard.feed.filter(event.value)
        self.query_one(FeedView).cursor = None
        self.draw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go to the feed."""
        event.stop()
        self.query_one(FeedView).focus()

    def on_feed_view_moved(self, event: FeedView.Moved) -> None:
        """Hold still while somebody looks at one event."""
        event.stop()
        self._pause(self.query_one(FeedView).cursor is not None)

    def action_pause(self) -> None:
        """Hold the feed still, or let it go on; what comes meanwhile is not lost."""
        self._pause(not self.paused)

    def action_newest(self) -> None:
        """Follow the newest."""
        self.query_one(FeedView).action_follow()

    def _pause(self, paused: bool) -> None:
        if paused and not self.paused:
            self._passed = self.dashboard.feed.passed
        self.paused = paused
        if not paused:
            self.query_one(FeedView).cursor = None
        self.draw()

    _passed = 0
