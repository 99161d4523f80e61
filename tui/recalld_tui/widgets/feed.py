"""A feed of events of which only those in sight are rendered, however many come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from recalld.bus import wire
from recalld_tui.inks import Inks
from recalld_tui.model.events import facts, place
from recalld_tui.model.text import clock_time, cut, cut_path

TOPIC = 18
PLACE = 44
FACTS = 12
"""Columns below which facts are left out: the end of a path tells more."""


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
        self.version = -1
        self._paint: Paint | None = None

    @property
    def current(self) -> wire.Event | None:
        """Return the event under the cursor, the newest where it follows."""
        if not self.events:
            return None
        return self.events[-1 if self.cursor is None else min(self.cursor, len(self.events) - 1)]

    def show(self, events: Sequence[wire.Event], version: int) -> None:
        """Show events, oldest first; ``version`` tells them from others."""
        self.events, self.version = events, version
        self.virtual_size = Size(self.scrollable_content_region.width, len(events))
        if self.cursor is None:
            self._to_newest()
        self.refresh()

    def _to_newest(self) -> None:
        self.scroll_to(y=max(0, len(self.events) - self.size.height), animate=False, immediate=True)

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
        self._to_newest()
        self.refresh()
        self.post_message(self.Moved())

    def render_lines(self, crop: Region) -> list[Strip]:
        """Render lines of the screen; what is the same for all of them is looked up once."""
        self._paint = Paint.of(self, Inks.of(self.app.current_theme), self.app.theme_variables["panel"])
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """Render a line of the screen."""
        number, width = y + self.scroll_offset.y, self.scrollable_content_region.width
        paint = self._paint
        assert paint is not None
        if number >= len(self.events):
            return Strip.blank(width, paint.base)
        return _line(self.events[number], width, paint).apply_style(paint.here if number == self.cursor else paint.base)


@dataclass(frozen=True, slots=True)
class Paint:
    """The styles of a moment."""

    base: Style
    dim: Style
    here: Style
    inks: Inks

    @classmethod
    def of(cls, view: FeedView, inks: Inks, panel: str) -> Paint:
        """Return the styles of a view."""
        base = view.rich_style
        return cls(base, Style.parse(inks.dim), base + Style(bgcolor=panel), inks)


def _line(event: wire.Event, width: int, paint: Paint) -> Strip:
    """Return an event as a line: when, what, where, and as many facts as there is room for."""
    at, topic = f" {clock_time(event.at)} ", f"{cut(event.topic, TOPIC):<{TOPIC}} "
    room = max(10, width - len(at) - len(topic) - 1)
    about = min(PLACE, room) if room - PLACE > FACTS else room
    where = f"{cut_path(place(event), about):<{about}} "
    rest = width - len(at) - len(topic) - len(where)
    told = f"{facts(event, rest - 1) if room > about else '':<{max(0, rest)}}"
    segments = [
        Segment(at, paint.dim),
        Segment(topic, Style.parse(paint.inks.word(event.topic.rsplit(".", 1)[-1]))),
        Segment(where),
        Segment(told, paint.dim),
    ]
    fits = rest >= 0 and topic.isascii() and where.isascii() and told.isascii()
    return Strip(segments, width) if fits else Strip(segments).crop_extend(0, width, None)
