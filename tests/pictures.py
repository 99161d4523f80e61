"""``python -m tests.pictures``: draw the dashboard's screens into docs/pictures, before a throw-away daemon."""

from __future__ import annotations

import re
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
from textual.pilot import Pilot

from recalld.bus.client import RecallClient
from recalld.configuration import Effective, explain, load
from recalld.demo.throwaway import REPO, ThrowAway, throw_away
from recalld.embedded.state import read_client_credentials
from recalld.errors import DependencyError, UnreachableError
from recalld_tui.app import Dashboard
from recalld_tui.link import Link
from tests.support.dashboard import PAGE_OF, recall_of, seen, settle, type_in, visit
from tests.support.repos import on_disk
from tests.support.waiting import until, until_indexed

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
SIZE = (120, 36)
SHOWN_AS = "/srv"
"""What stands for the throw-away directory."""
NODE = "harbour"
ASKED = (
    "do the confirmation mails go through a Redis list?",
    "how long do we keep guest data?",
    "what is the melting point of tungsten?",
    "may we deploy during the regatta?",
)
LATE = "# Berth heaters\n\nThe berth heaters are switched by the harbour office, and never by a job.\n"
FONT = re.compile(r"@font-face\s*\{[^}]*\}\s*")


def tidy(home: Path, text: str) -> str:
    """Return a text without the places and names of this machine."""
    return text.replace(str(home), SHOWN_AS).replace(str(Path.home()), "~").replace(f"@{socket.gethostname()}", "")


def client_of(daemon: ThrowAway) -> RecallClient:
    """Return a client whose replies name no place of this machine. Raises UnreachableError without a daemon."""

    class Tidy(RecallClient):
        async def _ask(self, *given: Any, **named: Any) -> Any:
            reply = await super()._ask(*given, **named)
            return type(reply).model_validate_json(tidy(daemon.home, reply.model_dump_json()))

    found = read_client_credentials(daemon.home / "state")
    if found is None:
        raise UnreachableError("the daemon has ended")
    return Tidy(found.url, user=found.user, password=found.password, agent="dashboard")


def settings_of(daemon: ThrowAway) -> list[Effective]:
    """Return the daemon's settings."""
    state, cache = str(daemon.home / "state"), str(daemon.home / "cache")
    flags = {"node": {"state_dir": state, "cache_dir": cache, "name": NODE}}
    rows = explain(*load(daemon.home / "recalld.toml", flags))
    return [replace(row, value=tidy(daemon.home, row.value), source=tidy(daemon.home, row.source)) for row in rows]


async def fill(daemon: ThrowAway) -> None:
    """Have something happen: it learns how sure it may be, answers, fails, and has something to decide."""
    async with daemon.client("dashboard") as client:
        await until_indexed(client, REPO, on_disk(daemon.memory))

        async def knows() -> bool:
            return (await client.stats()).calibration is not None

        await until(knows, 120.0)
        for question in ASKED:
            await client.search(question)
        (daemon.memory / "notes" / "heaters.md").write_text(LATE)
        broken = "---\nvalid_from: someday\n---\n# Crane\n\nThe crane is oiled.\n"
        (daemon.memory / "notes" / "crane.md").write_text(broken)
        await until_indexed(client, REPO, on_disk(daemon.memory))
        await client.learn(
            repo=REPO, title="Ask before a berth is double-booked", check="Is the berth free on both days?",
            body="Two boats were sent to one berth, for the second day was never looked at.", proposed=True,
        )  # fmt: skip
        for name in ("lint", "retention"):
            run = (await client.jobs_run(name)).run

            async def ended(name: str = name, id_: int = run.id) -> bool:
                runs = (await client.jobs(name)).runs
                return any(each.id == id_ and each.ended_at is not None for each in runs)

            await until(ended, 60.0)


Ready = Callable[[Dashboard, Pilot[None]], Awaitable[None]]


async def ask(app: Dashboard, pilot: Pilot[None]) -> None:
    """Have a question answered in prose."""
    await pilot.press("escape", "m")
    await find(app, pilot)


async def find(app: Dashboard, pilot: Pilot[None]) -> None:
    """Have a question answered."""
    await pilot.press("escape", "slash")
    await type_in(pilot, ASKED[0])
    await pilot.press("enter")
    await seen(pilot, lambda: recall_of(app).reply is not None and not recall_of(app).is_asking)


async def lately(app: Dashboard, pilot: Pilot[None]) -> None:
    """Choose a document that replaced another."""
    await pilot.press("escape", "slash")
    await type_in(pilot, "0009")
    await pilot.press("enter")


async def nothing(app: Dashboard, pilot: Pilot[None]) -> None:
    """Show the screen as it is."""


FIRST: dict[str, Ready] = {"recall": ask, "search": find, "memory": lately}


async def draw(daemon: ThrowAway, into: Path) -> None:
    """Draw each screen, and the screen Recall twice: with an answer, and with what was found."""
    into.mkdir(parents=True, exist_ok=True)
    settings = settings_of(daemon)
    for name, key in [*((name, key) for key, name in PAGE_OF.items()), ("search", "2")]:
        async with shown(daemon, settings) as (app, pilot):
            await visit(pilot, key)
            await FIRST.get(name, nothing)(app, pilot)
            await settle(pilot)
            svg = FONT.sub("", app.export_screenshot(title=f"recall dashboard: {name}"))
        told = [each for each in (str(daemon.home), str(Path.home()), "http://fonts", "cdnjs") if each in svg]
        if told:
            raise DependencyError(f"{name} would tell {', '.join(told)}")
        (into / f"{name}.svg").write_text(svg, "utf-8")
        sys.stdout.write(f"{into / name}.svg\n")


@asynccontextmanager
async def shown(daemon: ThrowAway, settings: list[Effective]) -> AsyncIterator[tuple[Dashboard, Pilot[None]]]:
    """Give a dashboard that knows how the daemon fares."""
    app = Dashboard(Link(lambda: client_of(daemon)), settings=lambda: settings)
    async with app.run_test(size=SIZE) as pilot:
        await seen(pilot, lambda: app.status.pace is not None and app.feed.total > 0)
        yield app, pilot


async def main() -> None:
    """Start a daemon, have something happen, and draw."""
    async with throw_away({"node.name": NODE}) as daemon:
        await fill(daemon)
        await draw(daemon, PICTURES)


if __name__ == "__main__":
    anyio.run(main)
