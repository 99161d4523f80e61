"""What is known of the thing under the cursor, in a frame of its own beside the list."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static


class Inspector(VerticalScroll):
    """A frame with a title; the text in it has the id ``about``."""

    def __init__(self, title: str) -> None:
        super().__init__(id="inspector", classes="panel")
        self.border_title = title

    def compose(self) -> ComposeResult:
        """Lay out the text."""
        yield Static(id="about", markup=False)
