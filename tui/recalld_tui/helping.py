"""The help: every key that means something now."""

from __future__ import annotations

from rich.text import Text
from textual.screen import Screen

from recalld_tui.inks import Inks
from recalld_tui.widgets.bar import NAMES

EVERYWHERE = (
    ("1 … 9", ", ".join(NAMES)),
    ("/", "search or filter"),
    ("esc", "leave the input"),
    ("tab", "next part of the screen"),
    ("↑ ↓ enter", "choose"),
    ("r", "reload"),
    ("ctrl+t", "light or dark; more themes in the palette"),
    ("ctrl+p", "command palette"),
    ("q", "quit"),
)


def help_text(screen: Screen[object], inks: Inks) -> Text:
    """Return the keys of a screen, then those that hold everywhere."""
    own = {
        binding.key_display or key: binding.description
        for key, (_, binding, *_) in screen.active_bindings.items()
        if binding.description and binding.show and binding.key not in ("question_mark", "slash", "q")
    }
    text = Text()
    for keys in (own.items(), EVERYWHERE):
        for key, words in keys:
            text.append(f"{key:<12}", inks.accent)
            text.append(f"{words}\n")
        text.append("\n")
    return text
