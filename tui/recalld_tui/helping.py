"""The help: every key that means something now."""

from __future__ import annotations

from rich.text import Text
from textual.binding import Binding
from textual.screen import Screen

from recalld_tui.inks import Inks
from recalld_tui.widgets.bar import NAMES

EVERYWHERE = (
    ("1 … 9", ", ".join(NAMES)),
    ("/", "type into the line on top: a search, a question, a filter"),
    ("esc", "leave the line, so that keys mean commands again"),
    ("tab", "next part of the screen"),
    ("↑ ↓ enter", "choose"),
    ("r", "reload"),
    ("ctrl+t", "light or dark; more themes in the palette"),
    ("ctrl+p", "command palette"),
    ("? F1", "this help; F1 also while typing"),
    ("q", "quit"),
)


def help_text(screen: Screen[object], inks: Inks) -> Text:
    """Return the keys of a screen, then those that hold everywhere."""
    bindings = [each for each in type(screen).BINDINGS if isinstance(each, Binding)]
    own = [(each.key_display or each.key, each.description) for each in bindings if each.show]
    text = Text()
    for keys in (own, EVERYWHERE):
        for key, words in keys:
            text.append(f"{key:<12}", inks.accent)
            text.append(f"{words}\n")
        text.append("\n")
    return text
