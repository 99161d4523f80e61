"""A line to type in; what is pasted into it can steer the terminal no more than what is shown."""

from __future__ import annotations

from textual.widgets import Input

from recalld_tui.model.text import line


class Line(Input):
    """An input whose value holds no control characters."""

    def validate_value(self, value: str) -> str:
        """Return the value, made harmless."""
        return line(value)
