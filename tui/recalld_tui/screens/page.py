"""What all pages share: the bar on top, the keys below, and loading anew while they are looked at."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, cast

import anyio
from rich.console import RenderableType
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Container
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import DataTable, Footer, Input, Static
from textual.worker import Worker

from recalld.bus import wire
from recalld.errors import RecalldError
from recalld_tui.widgets.bar import Bar
from recalld_tui.working import begin

if TYPE_CHECKING:
    from recalld_tui.app import Dashboard
    from recalld_tui.inks import Inks
    from recalld_tui.link import Link

LEAST_S = 0.4
"""Between two loads that events ask for."""


class Page(Screen[None]):
    """A page. ``load`` asks the daemon, ``draw`` shows what is known; both are called again and again."""

    NAME: ClassVar[str]
    EVERY_S: ClassVar[float] = 5.0
    TOPICS: ClassVar[tuple[str, ...]] = ()
    """Beginnings of the topics of events after which it is loaded anew."""
    FIRST: ClassVar[str] = ""
    """The id of what has the focus at first."""

    def __init__(self) -> None:
        super().__init__()
        self.loads = 0
        self.ready = False
        self._again = anyio.Event()
        self._keeping: Worker[None] | None = None

    @property
    def dashboard(self) -> Dashboard:
        """Return the app."""
        return cast("Dashboard", self.app)

    @property
    def link(self) -> Link:
        """Return the way to the daemon."""
        return self.dashboard.link

    @property
    def inks(self) -> Inks:
        """Return the styles of the theme."""
        return self.dashboard.inks

    def compose(self) -> ComposeResult:
        """Lay out bar, body and footer."""
        yield Bar(self.NAME)
        with Container(id="body"):
            yield from self.body()
        yield Footer(show_command_palette=False)

    def body(self) -> Iterable[Widget]:
        """Lay out what is between bar and footer."""
        raise NotImplementedError

    async def load(self) -> None:
        """Ask the daemon. Raises its named errors."""

    def draw(self) -> None:
        """Show what is known; called after each load, and when the theme changes."""

    def on_mount(self) -> None:
        """Put the focus where one begins; from now on there is something to show things in."""
        self.ready = True
        if self.FIRST:
            self.query_one(f"#{self.FIRST}").focus()

    def on_screen_resume(self) -> None:
        """Load, and go on loading while this page is looked at."""
        self.tell_state()
        self.draw()
        self._keeping = begin(self, self._keep, "keep", exclusive=True)

    def on_screen_suspend(self) -> None:
        """Load no more."""
        if self._keeping is not None:
            self._keeping.cancel()

    async def _keep(self) -> None:
        while True:
            self._again = anyio.Event()
            try:
                await self.load()
            except RecalldError as error:
                self.dashboard.stumbled(error)
            else:
                self.loads += 1
                self.draw()
            await anyio.sleep(LEAST_S)
            with anyio.move_on_after(self.EVERY_S - LEAST_S):
                await self._again.wait()

    def on_resize(self) -> None:
        """Show what is drawn to measure anew, once everything has its new room."""
        if self.ready:
            self.call_after_refresh(self.draw)

    def poke(self) -> None:
        """Load soon."""
        self._again.set()

    def happened(self, events: list[wire.Event]) -> None:
        """Take the events of the last moment, while this page is looked at."""
        if self.TOPICS and any(event.topic.startswith(self.TOPICS) for event in events):
            self.poke()

    def tell_state(self) -> None:
        """Show how the daemon stands."""
        self.query_one(Bar).show(self.dashboard.status.diagnosis, self.inks)

    def action_search(self) -> None:
        """Go to this page's input."""
        found = self.query("#body Input")
        if found:
            found.first(Input).focus()

    def action_leave(self) -> None:
        """Go from the input to the list."""
        tables = self.query("#body DataTable, #body #list")
        if tables:
            tables.first().focus()
        else:
            self.set_focus(None)

    def put(self, id_: str, shown: RenderableType) -> None:
        """Show something in the Static of that id; nothing happens where it shows that already.

        Where the height is fixed the screen is not laid out anew, which costs more than all the rest.
        """
        static = self.query_one(f"#{id_}", Static)
        before = static.content
        if isinstance(shown, Text) and isinstance(before, Text) and shown == before and shown.style == before.style:
            return
        height = static.styles.height
        static.update(shown, layout=height is None or height.cells is None)

    def table(self, id_: str) -> DataTable[object]:
        """Return the table of that id."""
        return self.query_one(f"#{id_}", DataTable)
