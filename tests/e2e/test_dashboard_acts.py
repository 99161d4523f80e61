"""What is done from the dashboard is done to the daemon, and what was asked first and declined is not."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from difflib import ndiff
from pathlib import Path

import asyncpg
import pytest
from textual.pilot import Pilot

from recalld.bus import wire
from recalld.bus.client import RecallClient
from recalld.model import DocumentState, Finding, Severity
from recalld.store import Store
from recalld_tui.app import Dashboard
from recalld_tui.widgets.dialogs import Confirm
from recalld_tui.widgets.rows import Rows
from tests.support.daemon import Daemon, running
from tests.support.dashboard import QUIET, index_texts, lines_of, seen, settle, shown, text_of, type_in, visit
from tests.support.directories import short_directory
from tests.support.postgres import fresh_database
from tests.support.repos import on_disk
from tests.support.waiting import until, until_indexed

BUOYS = "notes/broken.md"
HELD = "LOCK TABLE finding IN SHARE MODE"
"""Findings can be read meanwhile, and a job that writes some goes on only when this is over."""


@pytest.fixture(scope="module")
async def dsn(anyio_backend: str, postgres_server: str) -> AsyncIterator[str]:
    async with fresh_database(postgres_server, None) as found:
        yield found


@pytest.fixture(scope="module")
async def daemon(anyio_backend: str, dsn: str) -> AsyncIterator[Daemon]:
    with short_directory() as directory:
        async with running(directory / "state", **QUIET, RECALLD_STORE__DSN=dsn) as started:
            async with started.client() as client:
                await index_texts(client, directory / "memory")
            yield started


@pytest.fixture
async def client(daemon: Daemon) -> AsyncIterator[RecallClient]:
    async with daemon.client() as opened:
        yield opened


def memory_of(daemon: Daemon) -> Path:
    return daemon.state_dir.parent / "memory"


async def requests(client: RecallClient, verb: str) -> int:
    """Return how often the daemon was asked for something."""
    return sum(view.verbs[verb].requests for view in await client.services() if verb in view.verbs)


async def choose(pilot: Pilot[None], holds: Callable[[object], bool], rows: str = "list") -> None:
    """Go down the rows to one."""
    table = pilot.app.screen.query_one(f"#{rows}", Rows)
    await seen(pilot, lambda: any(holds(each) for each in table._things.values()))
    for _ in range(table.row_count):
        if table.current is not None and holds(table.current):
            break
        await pilot.press("down")
    assert table.current is not None and holds(table.current), text_of(pilot.app)
    await settle(pilot)


async def told(app: Dashboard, pilot: Pilot[None], words: str) -> None:
    """Wait until the app says something."""
    await seen(pilot, lambda: any(words in each.message for each in app._notifications))


async def asked_first(app: Dashboard, pilot: Pilot[None], key: str, question: str) -> Sequence[str]:
    """Press a key; return the lines of the dialog that comes then."""
    await pilot.press(key)
    await seen(pilot, lambda: isinstance(app.screen, Confirm) and question in text_of(app))
    box = app.screen.query_one(".dialog").content_region
    return [each[box.x : box.right].strip() for each in lines_of(app)[box.y : box.bottom]]


async def declined(
    app: Dashboard, pilot: Pilot[None], key: str, question: str, client: RecallClient, verb: str, ways: Sequence[str]
) -> None:
    """Decline a question in several ways; the daemon is not asked for the verb."""
    before = await requests(client, verb)
    for no in ways:
        await asked_first(app, pilot, key, question)
        await pilot.press(no)
        await seen(pilot, lambda: app.page is not None)
        assert not [each for each in app.workers if each.group == "act"]
    assert await requests(client, verb) == before


async def states(client: RecallClient) -> dict[str, DocumentState]:
    """Return the state of every document of the memory."""
    reply = await client.delta(wire.DeltaRequest(repo="memory"))
    return {each.path: each.state for each in reply.changes}


async def test_forgetting_asks_first_and_lets_back_in(daemon: Daemon, client: RecallClient) -> None:
    path = "src/tide.py"
    async with shown(daemon) as (app, pilot):
        await visit(pilot, "4")
        await pilot.press("slash")
        await type_in(pilot, "tide")
        await pilot.press("enter")
        await choose(pilot, lambda each: isinstance(each, wire.Change) and each.path == path)
        await declined(app, pilot, "f", f"Forget {path}?", client, "forget", ("n", "escape", "enter"))
        assert (await states(client))[path] is DocumentState.INDEXED
        said = await asked_first(app, pilot, "f", f"Forget {path}?")
        assert "its file stays as it is" in " ".join(said)
        await pilot.press("y")
        await seen(pilot, lambda: "forgotten: it has no text in the index" in text_of(app))
        assert (await states(client))[path] is DocumentState.FORGOTTEN
        assert (memory_of(daemon) / path).exists()
        await declined(app, pilot, "f", f"Let back in {path}?", client, "forget", ("n",))
        await asked_first(app, pilot, "f", f"Let back in {path}?")
        await pilot.press("tab", "enter")
        await until_indexed(client, "memory", on_disk(memory_of(daemon)))
        await seen(pilot, lambda: "passages" in text_of(app))


async def test_a_failure_is_tried_again_from_the_ledger(daemon: Daemon, client: RecallClient, dsn: str) -> None:
    await fail(dsn, "notes/ferry.md", "the disk said no")
    async with shown(daemon) as (app, pilot):
        await visit(pilot, "5")
        await seen(pilot, lambda: "1 failed to be indexed" in text_of(app))
        await pilot.press("slash")
        await type_in(pilot, "ingest-failed")
        await pilot.press("enter")
        await choose(pilot, lambda each: isinstance(each, wire.FindingView) and each.path == "notes/ferry.md")
        assert "the disk said no" in text_of(app)
        await pilot.press("x")
        await told(app, pilot, "notes/ferry.md: 1 put into the queue again")
        await seen(pilot, lambda: "nothing is wrong with any file" in text_of(app))
    assert (await states(client))["notes/ferry.md"] is DocumentState.INDEXED
    assert "ingest-failed" not in {each.code for each in (await client.stats()).findings}


async def fail(dsn: str, path: str, reason: str) -> None:
    """Have the store say that a file could not be indexed."""
    finding = Finding("memory", path, "ingest-failed", Severity.ERROR, reason, "save the file again to retry it")
    database = await asyncpg.connect(dsn)
    store = await Store.open(dsn)
    try:
        changed = await database.execute(
            "UPDATE document SET state = 'failed', reason = $2 WHERE path = $1", path, reason
        )
        assert changed == "UPDATE 1"
        await store.findings.replace("memory", path, "ingest", [finding], at=await database.fetchval("SELECT now()"))
    finally:
        await store.aclose()
        await database.close()


@asynccontextmanager
async def findings_held(dsn: str) -> AsyncIterator[None]:
    """Let nobody write a finding meanwhile."""
    database = await asyncpg.connect(dsn)
    try:
        async with database.transaction():
            await database.execute(HELD)
            yield
    finally:
        await database.close()


async def test_a_job_is_run_and_called_off(daemon: Daemon, client: RecallClient, dsn: str) -> None:
    async with shown(daemon) as (app, pilot):
        await visit(pilot, "7")
        await pilot.press("c")
        await told(app, pilot, "no run is under way")
        await choose(pilot, lambda each: isinstance(each, wire.JobView) and each.name == "lint")
        async with findings_held(dsn):
            await pilot.press("x")
            await seen(pilot, lambda: "running" in text_of(app))
            run = (await client.jobs("lint")).runs[0]
            assert run.requested_by == "dashboard"
            question = f"Call off run {run.id} of lint?"
            await declined(app, pilot, "c", question, client, "jobs.cancel", ("enter",))
            assert (await client.jobs(id=run.id)).runs[0].state == "running"
            await asked_first(app, pilot, "c", question)
            await pilot.press("y")
            await ended(client, run.id, "cancelled")
        await seen(pilot, lambda: "cancelled" in text_of(app))
        await pilot.press("x")
        await seen(pilot, lambda: "done" in text_of(app))
    newest = (await client.jobs("lint")).runs[0]
    assert (newest.state, newest.id != run.id) == ("done", True)


async def ended(client: RecallClient, run: int, state: str) -> None:
    async def has() -> bool:
        return (await client.jobs(id=run)).runs[0].state == state

    await until(has)


Prepared = Callable[[str], Awaitable[wire.LearnReply]]


@pytest.fixture
async def proposal(daemon: Daemon, client: RecallClient) -> Prepared:
    async def propose(title: str) -> wire.LearnReply:
        reply = await client.learn(
            title=title, check="Is the sender throttled?", body="212 went to spam.", proposed=True
        )
        await until_indexed(client, "memory", on_disk(memory_of(daemon)))
        return reply

    return propose


def is_lesson(path: str) -> Callable[[object], bool]:
    return lambda each: isinstance(each, wire.LessonView) and each.path == path


async def status_of(client: RecallClient, path: str) -> str | None:
    """Return the status of a lesson as the daemon has it; None where it has none of that path."""
    return next((each.status for each in (await client.lessons()).lessons if each.path == path), None)


async def test_a_proposed_lesson_is_accepted_after_a_look_at_the_change(
    daemon: Daemon, client: RecallClient, proposal: Prepared
) -> None:
    path = (await proposal("Bulk mails")).path
    file = memory_of(daemon) / path
    before = file.read_text()
    async with shown(daemon, (160, 48)) as (app, pilot):
        await visit(pilot, "6")
        await choose(pilot, is_lesson(path))
        await declined(app, pilot, "y", "Accept Bulk mails?", client, "review", ("escape",))
        assert file.read_text() == before and await status_of(client, path) == "proposed"
        said = await asked_first(app, pilot, "y", "Accept Bulk mails?")
        await pilot.press("y")
        await told(app, pilot, f"{path}: accept")
        await seen(pilot, lambda: "wait to be accepted" not in text_of(app))
    assert await status_of(client, path) == "active"
    changes = ndiff(before.splitlines(), file.read_text().splitlines())
    assert [each for each in said if re.match(r"[-+](?![-+])", each)] == [
        each[0] + each[2:] for each in changes if each[0] in "-+"
    ]


async def test_a_proposed_lesson_is_rejected_and_brought_back(
    daemon: Daemon, client: RecallClient, proposal: Prepared
) -> None:
    path = (await proposal("Retries hammer")).path
    file = memory_of(daemon) / path
    before = file.read_bytes()
    async with shown(daemon, (160, 48)) as (app, pilot):
        await visit(pilot, "6")
        await choose(pilot, is_lesson(path))
        await declined(app, pilot, "n", "Reject Retries hammer?", client, "review", ("n",))
        assert file.read_bytes() == before
        assert "undo brings it back" in " ".join(await asked_first(app, pilot, "n", "Reject Retries hammer?"))
        await pilot.press("y")
        await told(app, pilot, f"{path}: reject")
        assert not file.exists() and await status_of(client, path) is None
        await pilot.press("v", "v", "v")
        await seen(pilot, lambda: "reject, 1 file of memory" in text_of(app))
        run = (await client.undo()).runs[0].id
        await choose(pilot, lambda each: isinstance(each, wire.RunView) and each.id == run)
        await asked_first(app, pilot, "u", f"Undo reject {run}?")
        await pilot.press("n")
        await seen(pilot, lambda: app.page is not None)
        assert not [each for each in app.workers if each.group == "act"]
        assert not file.exists() and (await client.undo()).runs[0].undone_at is None
        assert path in "".join(await asked_first(app, pilot, "u", f"Undo reject {run}?"))
        await pilot.press("y")
        await told(app, pilot, f"{run} is undone")
    assert file.read_bytes() == before
    await until_indexed(client, "memory", on_disk(memory_of(daemon)))
    assert await status_of(client, path) == "proposed"


async def test_a_pin_holds_until_it_is_taken_out(daemon: Daemon, client: RecallClient, proposal: Prepared) -> None:
    path = (await proposal("Dumps at noon")).path

    async def pinned() -> bool:
        return any(each.pinned for each in (await client.lessons()).lessons if each.path == path)

    async with shown(daemon, (160, 48)) as (app, pilot):
        await visit(pilot, "6")
        for pins in (True, False):
            await choose(pilot, lambda each: is_lesson(path)(each) and each.pinned is not pins)  # type: ignore[attr-defined]  # noqa: B023
            await pilot.press("p")
            words = f"{path}: {'pin' if pins else 'unpin'}"
            await told(app, pilot, words)
            await until_indexed(client, "memory", on_disk(memory_of(daemon)))
            assert await pinned() is pins


async def test_where_no_editor_can_be_opened_that_is_said(daemon: Daemon) -> None:
    async with shown(daemon) as (app, pilot):
        await visit(pilot, "5")
        await choose(pilot, lambda each: isinstance(each, wire.FindingView) and each.path == BUOYS)
        await pilot.press("e")
        await told(app, pilot, f"no editor can be opened here: {BUOYS}:")
