"""The two lines on top of each screen: how it stands, and where one can go."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.events import Click, Resize
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from recalld_tui.inks import Inks
from recalld_tui.model.health import Diagnosis

PAGES = ("overview", "recall", "events", "memory", "faults", "lessons", "jobs", "receipts", "config")
NAMES = ("Overview", "Recall", "Events", "Memory", "Lint", "Lessons", "Jobs", "Receipts", "Config")

ROOMY = 96
"""Columns from which on the pages have room around their names."""
NAMED = 74
"""Columns from which on all pages have names; below, only the one that is looked at."""


class Go(Message):
    """Somebody wants to see a page."""

    def __init__(self, page: str) -> None:
        self.page = page
        super().__init__()


class Tab(Static):
    """A page's number and name; a click goes there."""

    def __init__(self, number: int, *, here: bool) -> None:
        super().__init__(markup=False, id=f"tab-{PAGES[number - 1]}", classes="-here" if here else "")
        self._number, self._page, self._here = number, PAGES[number - 1], here

    def show(self, width: int) -> None:
        """Show number and name, closer together where the screen is narrow, or the number alone."""
        name = NAMES[self._number - 1] if self._here or width >= NAMED else ""
        self.update(f"{self._number}{' ' if name and width >= ROOMY else ''}{name}")

    def on_click(self, event: Click) -> None:
        """Go there."""
        event.stop()
        self.post_message(Go(self._page))


class Bar(Widget):
    """The daemon's state in a line, and the pages."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self._page = page

    def compose(self) -> ComposeResult:
        """Lay out the two lines."""
        yield Static(id="state", markup=False)
        with Horizontal(id="tabs"):
            for number, page in enumerate(PAGES, start=1):
                yield Tab(number, here=page == self._page)

    def on_resize(self, event: Resize) -> None:
        """Fit the pages into the width, once that is laid out: names that change meanwhile keep their old room."""
        self.call_after_refresh(self._fit, event.size.width)

    def _fit(self, width: int) -> None:
        for tab in self.query(Tab):
            tab.show(width)

    def show(self, diagnosis: Diagnosis, inks: Inks) -> None:
        """Say how it stands, and why, as far as a line goes."""
        style = inks.level(diagnosis.level)
        text = Text.assemble((" recalld ", "bold"), (f" {diagnosis.mark} {diagnosis.word}", style), no_wrap=True)
        if diagnosis.reasons:
            more = f" (+{len(diagnosis.reasons) - 1})" if len(diagnosis.reasons) > 1 else ""
            text.append(f"  {diagnosis.reasons[0].words}{more}", inks.dim)
        text.overflow = "ellipsis"
        self.query_one("#state", Static).update(text, layout=False)
