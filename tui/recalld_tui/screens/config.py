"""Config: every setting in force for this command, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input, Static

from recalld.configuration import Effective
from recalld_tui.model.room import Elastic
from recalld_tui.model.text import line
from recalld_tui.screens.page import Page
from recalld_tui.widgets.line import Line
from recalld_tui.widgets.rows import Rows


class Config(Page):
    """Settings, all or those that differ from their default."""

    NAME = "config"
    FIRST = "list"
    EVERY_S: ClassVar[float] = 60.0
    BINDINGS: ClassVar[list[BindingType]] = [Binding("c", "changed", "Only changed")]

    def __init__(self) -> None:
        super().__init__()
        self.rows: Sequence[Effective] = ()
        self._changed = False

    def body(self) -> Iterable[Widget]:
        """Lay out filter and settings."""
        yield Line(id="filter", placeholder="Filter: part of a key or value")
        yield Static(id="summary", markup=False)
        yield Rows[Effective]("setting", Elastic("value"), Elastic("from"), id="list")

    async def load(self) -> None:
        """Read the settings as this command found them."""
        self.rows = self.dashboard.settings()

    def draw(self) -> None:
        """Show the settings that are asked for."""
        words = self.query_one(Input).value.lower()
        shown = [
            row
            for row in self.rows
            if words in f"{row.key} {row.value}".lower() and not (self._changed and row.source == "default")
        ]
        which = "that differ from their default" if self._changed else "in force"
        note = f" {len(shown)} settings {which}, as this command reads them; a daemon elsewhere may have others"
        self.put("summary", Text(note, self.inks.dim, no_wrap=True, overflow="ellipsis"))
        self.query_one(Rows).fill([(row.key, row, self._cells(row)) for row in shown])

    def _cells(self, row: Effective) -> tuple[Text, ...]:
        style = self.inks.dim if row.source == "default" else ""
        return Text(row.key, style), Text(line(row.value), style), Text(line(row.source), self.inks.dim)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while typing."""
        event.stop()
        self.draw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go to the settings."""
        event.stop()
        self.query_one(Rows).focus()

    def action_changed(self) -> None:
        """Show all settings, or those that differ from their default."""
        self._changed = not self._changed
        self.draw()
