"""The app: its pages, what it always knows of the daemon, and how it acts on it."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import ClassVar, TypeVar

import anyio
from textual.app import App, SuspendNotSupported, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

from recalld.bus import wire
from recalld.bus.client import RecallClient
from recalld.configuration import Effective
from recalld.errors import DeadlineError, NotFoundError, RecalldError, RefusedError, UnreachableError
from recalld_tui.helping import help_text
from recalld_tui.inks import DARK, LIGHT, Inks
from recalld_tui.link import Link
from recalld_tui.model.events import Feed, Journeys
from recalld_tui.model.health import Level, away
from recalld_tui.model.status import Status
from recalld_tui.model.text import line
from recalld_tui.opening import command_for, editor_of, file_of, run_editor
from recalld_tui.screens.config import Config
from recalld_tui.screens.events import Events
from recalld_tui.screens.faults import Faults
from recalld_tui.screens.jobs import Jobs
from recalld_tui.screens.lessons import Lessons
from recalld_tui.screens.memory import Memory
from recalld_tui.screens.overview import Overview
from recalld_tui.screens.page import Page
from recalld_tui.screens.recall import Recall
from recalld_tui.screens.receipts import Receipts
from recalld_tui.widgets.bar import NAMES, PAGES, Go
from recalld_tui.widgets.dialogs import Told
from recalld_tui.working import begin

T = TypeVar("T")
PULSE_S = 2.0
BREAKPOINTS = [(0, "-narrow"), (100, "-medium"), (140, "-wide")]
"""Columns from which on a screen has a class."""
FLUSH_S = 0.25
"""How often the screen takes up events, however many come."""
POURING = 100
"""Events at a time after which it takes twice as long until the next: nobody reads so fast."""


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


class Dashboard(App[None]):
    """A plain client of the bus. ``settings`` gives the settings in force; clocks are arguments."""

    TITLE = "recalld"
    CSS_PATH = "dashboard.tcss"
    MODES: ClassVar[dict[str, str | Callable[[], Screen[object]]]] = {}
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(number), f"go('{page}')", name, show=False)
            for number, (page, name) in enumerate(zip(PAGES, NAMES, strict=True), start=1)
        ),
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("f1", "help", "Help", key_display="F1"),
        Binding("slash", "search", "Search", key_display="/"),
        Binding("escape", "leave", "Leave input", show=False),
        Binding("r", "reload", "Reload", show=False),
        Binding("ctrl+t", "theme", "Light or dark", show=False),
        Binding("q", "quit", "Quit"),
    ]

    def __init__(
        self,
        link: Link,
        *,
        settings: Callable[[], Sequence[Effective]],
        clock: Callable[[], datetime] = utc_now,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.HORIZONTAL_BREAKPOINTS = BREAKPOINTS
        self.link, self.settings, self.clock, self.monotonic = link, settings, clock, monotonic
        self.status, self.feed, self.journeys = Status(), Feed(), Journeys()
        self._new: list[wire.Event] = []
        self._pouring = False
        for theme in (DARK, LIGHT):
            self.register_theme(theme)
        self.theme = DARK.name

    @property
    def inks(self) -> Inks:
        """Return the styles of the theme."""
        return Inks.of(self.current_theme)

    @property
    def page(self) -> Page | None:
        """Return the page that is looked at; None below a dialog, and while there is none that can show anything."""
        stack = self.screen_stack if self.is_running else []
        top = stack[-1] if stack else None
        return top if isinstance(top, Page) and top.ready else None

    async def on_mount(self) -> None:
        """Show the overview, and begin to watch the daemon."""
        for name, kind in pages().items():
            self.add_mode(name, kind)
        self.theme_changed_signal.subscribe(self, lambda _: self._redraw())
        await self.switch_mode("overview")
        begin(self, self._pulse, "pulse")
        begin(self, self._follow, "follow")
        self.set_interval(FLUSH_S, self._take_up)

    async def _shutdown(self) -> None:
        """End what is done beside the screen before the screens go: it would show its results on what is half gone."""
        self.workers.cancel_all()
        await super()._shutdown()

    async def on_unmount(self) -> None:
        """Close the connection."""
        await self.link.aclose()

    async def _pulse(self) -> None:
        while True:
            try:
                await self._look()
            except RecalldError as error:
                self.stumbled(error)
            if self.page is not None:
                self.page.tell_state()
                if isinstance(self.page, Overview):
                    self.page.draw()
            await anyio.sleep(PULSE_S)

    async def _look(self) -> None:
        health = await self.link.ask(lambda client: client.health())
        stats = await self.link.ask(lambda client: client.stats(findings=0))
        jobs = await self.link.ask(lambda client: client.jobs(limit=20))
        self.status.told(health, stats, jobs, self.clock())
        if not self.status.refused:
            try:
                services = await self.link.ask(lambda client: client.services())
                self.status.served(services, self.monotonic())
            except RefusedError as error:
                self.status.refused = error.message

    async def _follow(self) -> None:
        try:
            await self.link.follow(self._take)
        except RefusedError as error:
            self.tell(error)

    def _take(self, event: wire.Event) -> None:
        self._new.append(event)

    def _take_up(self) -> None:
        """Take up what came since the last time."""
        if self._pouring or not self._new:
            self._pouring = False
            return
        new, self._new = self._new, []
        self._pouring = len(new) > POURING
        now, moment = self.monotonic(), self.clock()
        for event in new:
            self.feed.add(event)
            self.journeys.add(event)
            self.status.happened(event, now - max(0.0, (moment - event.at).total_seconds()))
        if self.page is not None:
            self.page.happened(new)

    def stumbled(self, error: RecalldError) -> None:
        """Take note of an error while loading; what was known stays on the screen."""
        if isinstance(error, DeadlineError) and self.status.diagnosis.level < Level.AWAY:
            self.tell(error)
        elif isinstance(error, UnreachableError) or error.code == "dependency":
            self.status.diagnosis = away(error.message, error.suggestion)
        else:
            self.tell(error)
        if self.page is not None:
            self.page.tell_state()

    def tell(self, error: RecalldError) -> None:
        """Show an error for some seconds."""
        advice = f"\n{error.suggestion}" if error.suggestion else ""
        self.say(f"{error.message}{advice}", severity="error")

    def say(self, words: str, *, severity: str = "information") -> None:
        """Show words for some seconds."""
        shown = "\n".join(line(each) for each in words.split("\n"))
        self.notify(shown, severity="error" if severity == "error" else "information", markup=False)

    def act(
        self, call: Callable[[RecallClient], Awaitable[T]], done: Callable[[T], str | None], *, group: str = "act"
    ) -> None:
        """Have the daemon do something without holding up the screen; ``done`` says in words what came of it."""

        async def run() -> None:
            try:
                result = await self.link.ask(call)
            except RecalldError as error:
                self.tell(error)
                return
            words = done(result)
            if words:
                self.say(words)
            if self.page is not None:
                self.page.poke()

        begin(self, run, group)

    def edit(self, repo: str, path: str, line_number: int) -> None:
        """Open a file in $EDITOR while the app is put aside; says so where that cannot be."""

        async def run() -> None:
            try:
                repos = (await self.link.ask(lambda client: client.repo_list())).repos
                root = next((each.path for each in repos if each.name == repo), None)
                if root is None:
                    raise NotFoundError(f"no repo {repo}")
                command = command_for(editor_of(os.environ), file_of(root, path), line_number)
                with self.suspend():  # what is raised in there leaves the terminal without the app
                    fault = run_editor(command)
                if fault is not None:
                    raise fault
            except SuspendNotSupported:
                self.say(f"no editor can be opened here: {path}:{line_number}")
            except RecalldError as error:
                self.tell(error)

        begin(self, run, "edit", exclusive=True)

    def on_go(self, message: Go) -> None:
        """Go where somebody clicked."""
        self.action_go(message.page)

    def action_go(self, page: str) -> None:
        """Show a page."""
        if isinstance(self.screen, Page):
            self.switch_mode(page)

    def action_search(self) -> None:
        """Go to the page's input."""
        if self.page is not None:
            self.page.action_search()

    def action_leave(self) -> None:
        """Leave the input, so that keys mean commands again."""
        if self.page is not None:
            self.page.action_leave()

    def action_reload(self) -> None:
        """Ask the daemon again."""
        if self.page is not None:
            self.page.poke()

    def action_theme(self) -> None:
        """Change between light and dark."""
        self.theme = LIGHT.name if self.current_theme.dark else DARK.name

    def action_help(self) -> None:
        """Say what the keys do."""
        self.push_screen(Told("Keys", help_text(self.screen, self.inks)))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Offer the pages and the theme in the command palette."""
        for page, name in zip(PAGES, NAMES, strict=True):
            yield SystemCommand(f"Go to {name}", f"Show the screen {name}", lambda page=page: self.action_go(page))
        yield SystemCommand("Light or dark", "Change between the two themes", self.action_theme)
        yield SystemCommand("Reload", "Ask the daemon again", self.action_reload)
        yield SystemCommand("Keys", "Say what the keys do", self.action_help)
        yield from super().get_system_commands(screen)

    def _redraw(self) -> None:
        if self.page is not None:
            self.page.tell_state()
            self.page.draw()


def pages() -> dict[str, type[Page]]:
    """Return the pages by name."""
    return {page.NAME: page for page in (Overview, Recall, Events, Memory, Faults, Lessons, Jobs, Receipts, Config)}
