"""Tables whose rows come anew again and again, while the cursor stays where it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from rich.text import Text
from textual.events import Resize
from textual.message import Message
from textual.widgets import DataTable

T = TypeVar("T")


class Rows(DataTable[Text], Generic[T]):
    """A table of things; each has a key by which the cursor finds it again."""

    def __init__(self, *columns: str, id: str | None = None) -> None:
        super().__init__(cursor_type="row", cursor_foreground_priority="renderable", id=id, cell_padding=1)
        self._columns = columns
        self._things: dict[str, T] = {}
        self._shown: list[tuple[Text, ...]] = []
        self._width = 0

    class Widened(Message):
        """There is more or less room for each row than before."""

    def on_resize(self, event: Resize) -> None:
        """Tell that the rows may be cut elsewhere."""
        if event.size.width != self._width:
            self._width = event.size.width
            self.post_message(self.Widened())

    def on_mount(self) -> None:
        """Make the columns."""
        self.add_columns(*self._columns)

    def fill(self, rows: Sequence[tuple[str, T, tuple[Text, ...]]]) -> None:
        """Show rows, each with key, thing and cells; nothing happens where they are as before."""
        self._things = {key: thing for key, thing, _ in rows}
        cells = [each for _, _, each in rows]
        if cells == self._shown and self.row_count == len(self._things):
            return
        at, place = self._key_at(self.cursor_row), self.cursor_row
        top = self.scroll_y
        self._shown = cells
        self.clear()
        seen: set[str] = set()
        for key, _, each in rows:
            if key not in seen:
                seen.add(key)
                self.add_row(*each, key=key)
        if self.row_count:
            row = self.get_row_index(at) if at is not None and at in self._things else min(place, self.row_count - 1)
            self.move_cursor(row=row, animate=False, scroll=False)
            self.scroll_to(y=top, animate=False)

    @property
    def current(self) -> T | None:
        """Return the thing under the cursor."""
        key = self._key_at(self.cursor_row)
        return self._things.get(key) if key is not None else None

    def _key_at(self, row: int) -> str | None:
        if not 0 <= row < self.row_count:
            return None
        return self.coordinate_to_cell_key(self.cursor_coordinate._replace(row=row)).row_key.value
