"""A document, with its lines numbered, those that matter marked, and its syntax in colours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, cast

from rich.segment import Segment
from rich.style import Style
from rich.syntax import Syntax
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Footer, Static

from recalld.bus import wire
from recalld_tui.model.text import clean, line

if TYPE_CHECKING:
    from recalld_tui.app import Dashboard

COLOURED = 200_000
"""Characters above which a text is shown without colours: the lexer would hold up the screen."""
ABOVE = 4
"""Lines that are shown above those that matter."""


class Lines(ScrollView, can_focus=True):
    """The lines of a text, those that are longer than the screen is wide folded; only those in sight are rendered."""

    def __init__(self, path: str, text: str, marked: tuple[int, int], *, dark: bool) -> None:
        super().__init__(id="list")
        self._text = clean(text)
        self._marked = marked
        self._gutter = len(str(self._text.count("\n") + 1)) + 2
        self._lines = _coloured(path, self._text, dark=dark)
        self._folded: list[tuple[int, Text]] = []
        self._room = 0

    def on_resize(self) -> None:
        """Fold the lines into the new room; what stood on top stays there, at first what matters."""
        numbers = [number for number, _ in self._folded]
        top = numbers[min(round(self.scroll_y), len(numbers) - 1)] if numbers else self._marked[0] - ABOVE
        self._room = self.scrollable_content_region.width
        self._folded = list(self._fold(max(1, self._room - self._gutter)))
        self.virtual_size = Size(self._room, len(self._folded))
        first = next((row for row, (number, _) in enumerate(self._folded) if number >= top), 0)
        self.call_after_refresh(self.scroll_to, y=first, animate=False)

    def _fold(self, width: int) -> Iterator[tuple[int, Text]]:
        """Give each line's number with each part of it."""
        for number, each in enumerate(self._lines, start=1):
            parts = each.wrap(self.app.console, width) if each.cell_len > width else (each,)
            yield from ((number, part) for part in parts)

    def render_line(self, y: int) -> Strip:
        """Render a line of the screen."""
        row, base = y + self.scroll_offset.y, self.rich_style
        if row >= len(self._folded):
            return Strip.blank(self._room, base)
        number, shown = self._folded[row]
        begins = row == 0 or self._folded[row - 1][0] != number
        marked = self._marked[0] <= number <= self._marked[1] and self._marked != (1, 1)
        style = base + self._mark() if marked else base
        told = f"{number if begins else '':>{self._gutter - 1}} "
        segments = [Segment(told, style + Style(dim=not marked, bold=marked))]
        segments += [
            Segment(each.text, style + each.style if each.style else style)
            for each in shown.render(self.app.console)
            if not each.control
        ]
        return Strip(segments).crop_extend(0, self._room, style)

    def _mark(self) -> Style:
        return Style(bgcolor=self.app.theme_variables["panel"])


class Document(Screen[None]):
    """A document whole, as it was indexed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,o", "app.pop_screen", "Back", key_display="esc"),
        Binding("e", "edit", "Editor"),
    ]

    def __init__(self, document: wire.GetReply, lines: tuple[int, int]) -> None:
        super().__init__()
        self.document, self._lines = document, lines

    def compose(self) -> ComposeResult:
        """Lay out title and lines."""
        document, app = self.document, cast("Dashboard", self.app)
        title = Text.assemble((f" {line(document.title)}", "bold"), no_wrap=True, overflow="ellipsis")
        title.append(f"  {line(f'{document.repo}:{document.path}')}", app.inks.link)
        title.append(f"  {line(document.kind)}", app.inks.dim)
        yield Static(title, markup=False, id="title")
        yield Lines(document.path, document.text, self._lines, dark=app.current_theme.dark)
        yield Footer(show_command_palette=False)

    def action_edit(self) -> None:
        """Open the file in $EDITOR."""
        cast("Dashboard", self.app).edit(self.document.repo, self.document.path, self._lines[0])


def _coloured(path: str, text: str, *, dark: bool) -> list[Text]:
    """Return the lines, in colours where the file's kind is known; never other characters than the text has."""
    lines = [Text(each) for each in text.split("\n")]
    if len(text) > COLOURED:
        return lines
    lexer = Syntax.guess_lexer(path, code=text)
    highlighted = Syntax("", lexer, theme="ansi_dark" if dark else "ansi_light").highlight(text)
    coloured = list(highlighted.split("\n", allow_blank=True))[: len(lines)]
    return coloured if [each.plain for each in coloured] == [each.plain for each in lines] else lines
