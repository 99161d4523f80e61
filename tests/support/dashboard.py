"""The dashboard before a real daemon, with what differs from run to run put at rest: times, durations, sizes, ids."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from difflib import unified_diff
from pathlib import Path
from typing import Any

import anyio
from textual.app import App
from textual.pilot import Pilot

from recalld.bus import wire
from recalld.bus.client import RecallClient
from recalld.configuration import Effective
from recalld.embedded.state import read_client_credentials
from recalld.errors import UnreachableError
from recalld_tui.app import Dashboard
from recalld_tui.link import Link
from recalld_tui.screens.recall import Recall
from tests.support.daemon import Daemon
from tests.support.repos import on_disk
from tests.support.waiting import until_indexed

NOW = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
SNAPSHOTS = Path(__file__).parents[1] / "data" / "dashboard"
WRITE = "RECALLD_WRITE_SNAPSHOTS"
SETTINGS = (
    Effective("bus.agent", "cli", "default"),
    Effective("embed.model", "hashing", "environment"),
    Effective("node.name", "harbour", "recalld.toml"),
)
HOSTILE = "# [red]Ferry[/red] [link=https://evil.example]timetable[/]\n\n\x1b[31mFerry\x1b[0m \u202ebackwards [bold]x\n"
"""Markup, escape sequences, an override of direction: shown as they are, never obeyed."""
TEXTS = {
    "decisions/0001-broker.md": "---\nvalid_from: 2024-01-10\n---\n# We keep the broker\n\nThe message broker stays.\n",
    "decisions/0002-no-broker.md": (
        "---\nsupersedes: 0001-broker\nvalid_from: 2025-02-03\nstatus: accepted\n---\n# We left the broker\n\n"
        "The message broker lost messages, so we left the message broker.\n"
    ),
    "rules/regatta.md": (
        "---\nvalid_from: 2024-05-01\nvalid_until: 2025-01-01\n---\n# Regatta freeze\n\nNobody deploys the regatta.\n"
    ),
    "lessons/force.md": (
        "---\ncheck: Is this branch yours alone?\n---\n# Never force-push a shared branch\n\nTwo commits were lost.\n"
    ),
    "notes/ferry.md": HOSTILE,
    "notes/broken.md": "---\nvalid_from: [\n---\n# Broken frontmatter\n\nThe buoys are counted in spring.\n",
    "src/tide.py": "def tide(hour: int) -> float:\n    return 2.5 * hour\n",
}
QUIET = {
    "RECALLD_TRUST__CALIBRATE": "off",
    "RECALLD_NODE__NAME": "harbour",
    "RECALLD_SCHEDULE__CALIBRATE_DRIFT": "",
    "RECALLD_SCHEDULE__EPISODES": "",
    "RECALLD_SCHEDULE__RETENTION": "",
    "RECALLD_SCHEDULE__LINT": "",
    "RECALLD_SCHEDULE__VERIFY": "",
    "RECALLD_SCHEDULE__MAINTAIN": "",
}
"""Nothing happens by the clock."""

_STILL: Mapping[str, Any] = {
    "took_ms": 1.5,
    "busy_ms": 30.0,
    "requests": 20,
    "rss_bytes": 64 << 20,
    "database_bytes": 10 << 20,
    "lag_s": 0.25,
    "receipt": "0123456789abcdef",
    "next_at": NOW + timedelta(hours=3),
    "seq": 7,
}


async def index_texts(client: RecallClient, root: Path) -> None:
    """Have the memory indexed, one file after another: equal scores are told apart by that order."""
    root.mkdir()
    await client.repo_add(str(root), name="memory")
    for path, text in TEXTS.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, newline="")
        await until_indexed(client, "memory", on_disk(root))


class Still(RecallClient):
    """A client whose replies hold nothing that differs from run to run."""

    async def _ask(self, verb: str, request: wire.Request, reply: Any, *rest: Any, **named: Any) -> Any:
        return _still(await super()._ask(verb, request, reply, *rest, **named))

    @asynccontextmanager
    async def asking(self, *given: Any, **named: Any) -> AsyncIterator[AsyncIterator[Any]]:
        """Ask in parts, each of them still."""
        async with super().asking(*given, **named) as parts:
            yield (_still(part) async for part in parts)

    async def services(self) -> tuple[wire.ServiceView, ...]:
        """Ask, and still; only of searches, for the number of verbs grows."""
        told = await super().services()
        return tuple(_still(each.model_copy(update={"verbs": {"search": each.verbs["search"]}})) for each in told)

    async def events(self, request: Any = None, **fields: Any) -> wire.EventsReply:
        """Read the history in an order that is always the same."""
        told = await super().events(request, **fields)
        ordered = sorted(told.events, key=lambda event: (event.topic, str(event.data.get("path"))))
        return wire.EventsReply(events=tuple(ordered))


def _still(message: Any) -> Any:
    if isinstance(message, wire.SearchReply) and message.trace is not None:
        named = {hit.id for hit in (*message.hits, *message.withheld)}
        message = message.model_copy(update={"trace": tuple(_unnamed(stage, named) for stage in message.trace)})
    return type(message).model_validate(_walk(message.model_dump()))


def _unnamed(stage: wire.TraceStage, named: set[str]) -> wire.TraceStage:
    """Give passages that are no hits one name: their ids are those of the order in which files were indexed."""
    ranking = tuple((id_ if id_ in named else "0", score) for id_, score in stage.ranking)
    return stage.model_copy(update={"ranking": ranking})


def _walk(value: Any, key: str = "") -> Any:
    if key in _STILL and value is not None:
        return _STILL[key]
    if isinstance(value, dict):
        return {name: _walk(each, str(name)) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_walk(each) for each in value]
    if isinstance(value, datetime):
        return NOW - timedelta(minutes=5)
    if isinstance(value, str):
        return re.sub(r"(?<=127\.0\.0\.1:)\d+", "4222", re.sub(r"/\S*/memory\b", "/srv/memory", value))
    return value


def link_to(daemon: Daemon, kind: type[RecallClient] = RecallClient, agent: str = "dashboard") -> Link:
    """Return the dashboard's way to a daemon, wherever it is by then."""
    return Link(finder(daemon, kind, agent))


def finder(
    daemon: Daemon, kind: type[RecallClient] = RecallClient, agent: str = "dashboard"
) -> Callable[[], RecallClient]:
    """Return what finds a daemon, wherever it is by then."""

    def find() -> RecallClient:
        found = read_client_credentials(daemon.state_dir)
        if found is None:
            raise UnreachableError("no daemon is running", suggestion="start one with `recalld run`")
        return kind(found.url, user=found.user, password=found.password, agent=agent)

    return find


@asynccontextmanager
async def shown(
    daemon: Daemon, size: tuple[int, int] = (120, 40), *, still: bool = False
) -> AsyncIterator[tuple[Dashboard, Pilot[None]]]:
    """Give a dashboard that knows the daemon; one that is ``still`` shows the same each time."""
    app = (
        Dashboard(link_to(daemon, Still), settings=lambda: SETTINGS, clock=lambda: NOW, monotonic=lambda: 1_000.0)
        if still
        else Dashboard(link_to(daemon), settings=lambda: SETTINGS)
    )
    async with app.run_test(size=size) as pilot:
        await seen(pilot, lambda: app.status.health is not None and bool(app.status.services) and app.feed.total > 0)
        yield app, pilot


async def seen(pilot: Pilot[None], holds: Callable[[], bool], timeout_s: float = 20.0) -> None:
    """Wait until the app shows something."""
    with anyio.move_on_after(timeout_s) as patience:
        while not holds():
            await pilot.pause(0.02)
    if patience.cancelled_caught:
        raise AssertionError("it is not shown:\n" + text_of(pilot.app))
    await pilot.pause()


async def visit(pilot: Pilot[None], key: str) -> None:
    """Go to a page by its number, and wait until it is loaded."""
    await pilot.press("escape", key)
    app = pilot.app
    assert isinstance(app, Dashboard)
    await seen(pilot, lambda: app.page is not None and PAGE_OF[key] == app.page.NAME and app.page.loads > 0)


CLOSER = ("closer", "fetch", "examine")
"""Work that fetches what is under the cursor."""


async def settle(pilot: Pilot[None]) -> None:
    """Wait until what is under the cursor is fetched and shown."""
    await seen(pilot, lambda: not any(each.group in CLOSER and each.is_running for each in pilot.app.workers))


PAGE_OF = {
    "1": "overview",
    "2": "recall",
    "3": "events",
    "4": "memory",
    "5": "faults",
    "6": "lessons",
    "7": "jobs",
    "8": "receipts",
    "9": "config",
}


def recall_of(app: App[Any]) -> Recall:
    """Return the screen Recall, which is looked at."""
    assert isinstance(app.screen, Recall)
    return app.screen


def lines_of(app: App[Any]) -> Sequence[str]:
    """Return what stands on the screen, line by line."""
    return [strip.text.rstrip() for strip in app.screen._compositor.render_strips()]


def text_of(app: App[Any]) -> str:
    """Return what stands on the screen."""
    return "\n".join(lines_of(app)) + "\n"


def compare(app: App[Any], name: str) -> None:
    """Compare the screen with the one that is kept; with RECALLD_WRITE_SNAPSHOTS=1 it is written instead."""
    file = SNAPSHOTS / f"{name}-{app.size.width}x{app.size.height}.txt"
    found = text_of(app)
    if os.environ.get(WRITE):
        file.write_text(found, "utf-8")
        return
    kept = file.read_text("utf-8").splitlines()
    changed = "\n".join(unified_diff(kept, found.splitlines(), "kept", "found", n=1, lineterm=""))
    assert not changed, f"{file.name} differs; {WRITE}=1 writes it anew\n{changed}"


async def type_in(pilot: Pilot[None], text: str) -> None:
    """Type text into what has the focus."""
    names = {" ": "space", "?": "question_mark", "-": "minus", ".": "full_stop", ":": "colon", "/": "slash"}
    await pilot.press(*(names.get(character, character) for character in text))
