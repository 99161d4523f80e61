"""A feed of events of which only those in sight are rendered, however many come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from recalld.bus import wire
from recalld_tui.inks import Inks
from recalld_tui.model.events import facts, place
from recalld_tui.model.text import clock_time, cut, cut_path

TOPIC = 18
PLACE = 44


class FeedView(ScrollView, can_focus=True):
    """Lines of events; the cursor follows the newest until it is moved."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "move(-20)", show=False),
        Binding("pagedown", "move(20)", show=False),
        Binding("home", "move(-1000000)", show=False),
        Binding("end", "follow", "Newest", show=False),
    ]

    class Moved(Message):
        """The cursor was moved by hand."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self.events: Sequence[wire.Event] = ()
        self.cursor: int | None = None

    @property
    def current(self) -> wire.Event | None:
        """Return the event under the cursor, the newest where it follows."""
        if not self.events:
            return None
        return self.events[-1 if self.cursor is None else min(self.cursor, len(self.events) - 1)]

    def show(self, events: Sequence[wire.Event]) -> None:
        """Show events, oldest first."""
        self.events = events
        self.virtual_size = Size(self.scrollable_content_region.width, len(events))
        if self.cursor is None:
            self.scroll_to(y=max(0, len(events) - self.size.height), animate=False, immediate=True)
        self.refresh()

    def action_move(self, by: int) -> None:
        """Move the cursor, and stop following."""
        if not self.events:
            return
        at = len(self.events) - 1 if self.cursor is None else self.cursor
        self.cursor = max(0, min(len(self.events) - 1, at + by))
        top, height = round(self.scroll_y), self.size.height
        if not top <= self.cursor < top + height:
            self.scroll_to(y=self.cursor if self.cursor < top else self.cursor - height + 1, animate=False)
        self.refresh()
        self.post_message(self.Moved())

    def action_follow(self) -> None:
        """Follow the newest again."""
        self.cursor = None
        self.show(self.events)
        self.post_message(self.Moved())

    def render_line(self, y: int) -> Strip:
        """Render a line of the screen."""
        number, width, base = y + self.scroll_offset.y, self.size.width, self.rich_style
        if number >= len(self.events):
            return Strip.blank(width, base)
        inks = Inks.of(self.app.current_theme)
        event, here = self.events[number], number == self.cursor
        if here:
            base += Style(bgcolor=self.app.theme_variables["panel"])
        dim, ink = base + Style.parse(inks.dim), base + Style.parse(inks.word(event.topic.rsplit(".", 1)[-1]))
        room = max(10, min(PLACE, width - TOPIC - 12))
        segments = [
            Segment(f" {clock_time(event.at)} ", dim),
            Segment(f"{cut(event.topic, TOPIC):<{TOPIC}} ", ink),
            Segment(f"{cut_path(place(event), room):<{room}} ", base),
            Segment(facts(event), dim),
        ]
        return Strip(segments).crop_extend(0, width, base)
