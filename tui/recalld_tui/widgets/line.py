"""A line to type in; what is pasted into it can steer the terminal no more than what is shown."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from recalld_tui.model.text import line

IDLE = "/ to type"
TYPING = "enter, or esc to leave"


class Line(Input):
    """An input whose value holds no control characters, and whose frame says whether keys are typed into it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "screen.leave", "Leave", key_display="esc")]

    def on_mount(self) -> None:
        """Say how to get in."""
        self.border_subtitle = IDLE

    def on_focus(self) -> None:
        """Say how to get out: until then every key is typed."""
        self.border_subtitle = TYPING

    def on_blur(self) -> None:
        """Say how to get in."""
        self.border_subtitle = IDLE

    def validate_value(self, value: str) -> str:
        """Return the value, made harmless."""
        return line(value)
