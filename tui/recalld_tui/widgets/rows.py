"""Tables whose rows come anew again and again, while the cursor stays where it is, and which fit into their room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from rich.text import Text
from textual.events import Resize
from textual.widgets import DataTable

from recalld_tui.model.room import Column, Elastic, fitted, shared

T = TypeVar("T")
PADDING = 1


class Rows(DataTable[Text], Generic[T]):
    """A table of things; each has a key by which the cursor finds it again."""

    def __init__(self, *columns: Column, id: str | None = None) -> None:
        super().__init__(cursor_type="row", cursor_foreground_priority="renderable", id=id, cell_padding=PADDING)
        self._titles = [each.title if isinstance(each, Elastic) else each for each in columns]
        self._elastic = [isinstance(each, Elastic) for each in columns]
        self._tail = [isinstance(each, Elastic) and each.tail for each in columns]
        self._things: dict[str, T] = {}
        self._cells: dict[str, tuple[Text, ...]] = {}
        self._laid: tuple[int, dict[str, tuple[Text, ...]]] | None = None

    def on_mount(self) -> None:
        """Make the columns."""
        self._lay()

    def on_resize(self, event: Resize) -> None:
        """Share out the new room."""
        self._lay()

    def fill(self, rows: Sequence[tuple[str, T, tuple[Text, ...]]]) -> None:
        """Show rows, each with key, thing and cells; of those with the same key the first one."""
        self._things, self._cells = {}, {}
        for key, thing, cells in rows:
            self._things.setdefault(key, thing)
            self._cells.setdefault(key, cells)
        self._lay()

    @property
    def current(self) -> T | None:
        """Return the thing under the cursor."""
        key = self._key_at(self.cursor_row)
        return self._things.get(key) if key is not None else None

    def _lay(self) -> None:
        """Lay out the rows; nothing happens where rows and room are as before."""
        room = self.scrollable_content_region.width
        if self._laid == (room, self._cells):
            return
        self._laid = room, self._cells
        at, place, top = self._key_at(self.cursor_row), self.cursor_row, self.scroll_y
        self.clear(columns=True)
        widths = self._widths(room)
        for title, width in zip(self._titles, widths, strict=True):
            self.add_column(fitted(Text(title), width), width=width)
        for key, cells in self._cells.items():
            shown = zip(cells, widths, self._tail, strict=True)
            self.add_row(*(fitted(cell, width, tail=tail) for cell, width, tail in shown), key=key)
        if self.row_count:
            row = self.get_row_index(at) if at is not None and at in self._cells else min(place, self.row_count - 1)
            self.move_cursor(row=row, animate=False, scroll=False)
            self.scroll_to(y=top, animate=False)

    def _widths(self, room: int) -> list[int]:
        """Return the width of each column; as wide as they want to be before there is a screen."""
        rows = [map(Text, self._titles), *self._cells.values()]
        wanted = [max(cell.cell_len for cell in column) for column in zip(*rows, strict=True)]
        return shared(wanted, self._elastic, room - 2 * PADDING * len(wanted)) if room else wanted

    def _key_at(self, row: int) -> str | None:
        if not 0 <= row < self.row_count:
            return None
        return self.coordinate_to_cell_key(self.cursor_coordinate._replace(row=row)).row_key.value
