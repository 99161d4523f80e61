"""Leaving the dashboard while the daemon's answer to it is still on its way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from textual.widget import Widget

from recalld.bus.client import RecallClient
from recalld_tui.app import Dashboard
from recalld_tui.link import Link
from recalld_tui.screens.page import Page
from tests.support.daemon import running
from tests.support.dashboard import QUIET, SETTINGS, finder, visit
from tests.support.directories import short_directory

T = TypeVar("T")


class Late(Link):
    """A way to the daemon on which answers wait, once ``late``, until ``arriving``."""

    late = False

    def __init__(self, find: Callable[[], RecallClient]) -> None:
        super().__init__(find)
        self.asked, self.arriving = anyio.Event(), anyio.Event()

    async def ask(self, call: Callable[[RecallClient], Awaitable[T]]) -> T:
        """Return what a call of the client returns, late."""
        answer = await super().ask(call)
        if self.late:
            self.asked.set()
            await self.arriving.wait()
        return answer


class Last(Widget):
    """A part of the screen that lets the answers arrive when it is taken away."""

    def __init__(self, link: Late) -> None:
        super().__init__()
        self._link = link

    async def on_unmount(self) -> None:
        self._link.arriving.set()


async def test_what_arrives_while_the_screen_is_taken_away_is_not_shown_any_more() -> None:
    with short_directory() as directory:
        async with running(directory / "state", **QUIET) as daemon:
            link = Late(finder(daemon))
            app = Dashboard(link, settings=lambda: SETTINGS)
            async with app.run_test(size=(120, 40)) as pilot:
                await visit(pilot, "7")
                page = app.page
                assert isinstance(page, Page)
                await page.mount(Last(link))
                link.late = True
                page.poke()
                await link.asked.wait()
                loads = page.loads
            assert link.arriving.is_set() and page.loads == loads
