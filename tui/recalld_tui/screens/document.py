"""A document, with its lines numbered, those that matter marked, and its syntax in colours."""

from __future__ import annotations

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
    """The lines of a text; only those in sight are rendered."""

    def __init__(self, path: str, text: str, marked: tuple[int, int], *, dark: bool) -> None:
        super().__init__(id="list")
        self._text = clean(text)
        self._marked = marked
        self._gutter = len(str(self._text.count("\n") + 1)) + 2
        self._lines = _coloured(path, self._text, dark=dark)
        width = max((each.cell_len for each in self._lines), default=0)
        self.virtual_size = Size(width + self._gutter + 1, len(self._lines))

    def on_mount(self) -> None:
        """Go to the lines that matter."""
        self.call_after_refresh(self.scroll_to, y=max(0, self._marked[0] - 1 - ABOVE), animate=False)

    def render_line(self, y: int) -> Strip:
        """Render a line of the screen."""
        left, top = self.scroll_offset
        number = y + top + 1
        base = self.rich_style
        if number > len(self._lines):
            return Strip.blank(self.size.width, base)
        marked = self._marked[0] <= number <= self._marked[1] and self._marked != (1, 1)
        style = base + self._mark() if marked else base
        gutter = Segment(f"{number:>{self._gutter - 1}} ", style + Style(dim=not marked, bold=marked))
        shown = self._lines[number - 1].copy()
        shown.end = ""
        segments = [
            Segment(each.text, style + each.style if each.style else style)
            for each in shown.render(self.app.console)
            if not each.control
        ]
        body = Strip(segments).crop_extend(left, left + max(0, self.size.width - self._gutter), style)
        return Strip.join([Strip([gutter]), body])

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
        title = Text(f" {line(document.title)}", "bold", no_wrap=True, overflow="ellipsis")
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
