"""Dialogs: nothing is taken away or rewritten before somebody said yes."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from recalld_tui.widgets.line import Line


class Confirm(ModalScreen[bool]):
    """Asks whether to do something; the answer no is the one at hand."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes"),
        Binding("n,escape", "answer(False)", "No"),
        Binding("left,right", "app.focus_next", "Other", show=False),
    ]

    def __init__(self, question: str, detail: Text | str = "", *, yes: str = "Yes") -> None:
        super().__init__()
        self._question, self._detail, self._yes = question, detail, yes

    def compose(self) -> ComposeResult:
        """Lay out question, detail and buttons."""
        with Vertical(classes="dialog"):
            yield Static(self._question, markup=False, classes="question")
            if self._detail:
                with VerticalScroll(classes="detail", can_focus=False):
                    yield Static(self._detail, markup=False)
            with Horizontal(classes="buttons"):
                yield Button("No", id="no")
                yield Button(self._yes, id="yes", variant="warning")

    def on_mount(self) -> None:
        """Have no at hand."""
        self.query_one("#no", Button).focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Answer."""
        self.dismiss(event.button.id == "yes")

    def action_answer(self, yes: bool) -> None:
        """Answer by key."""
        self.dismiss(yes)


class Prompt(ModalScreen[str | None]):
    """Asks for a line of text; None when it was called off."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Cancel")]

    def __init__(self, question: str, value: str = "", hint: str = "") -> None:
        super().__init__()
        self._question, self._value, self._hint = question, value, hint

    def compose(self) -> ComposeResult:
        """Lay out question and input."""
        with Vertical(classes="dialog"):
            yield Static(self._question, markup=False, classes="question")
            yield Line(self._value, placeholder=self._hint)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Answer."""
        self.dismiss(event.value)

    def action_leave(self) -> None:
        """Answer nothing."""
        self.dismiss(None)


class Told(ModalScreen[None]):
    """Shows a longer text until a key is pressed."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter,question_mark,f1", "dismiss", "Close")]

    def __init__(self, title: str, text: Text) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        """Lay out title and text."""
        with Vertical(classes="dialog wide"):
            yield Static(self._title, markup=False, classes="question")
            with VerticalScroll(classes="detail"):
                yield Static(self._text, markup=False)
