"""The dashboard, driven by keys and mouse, before a real daemon."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from anyio import to_thread
from textual.scroll_view import ScrollView
from textual.widgets import Input
from typer.testing import CliRunner

from recalld.bus import wire
from recalld.cli.client_app import app as recall
from recalld_tui.model.health import Level
from recalld_tui.screens.document import Document, Lines
from recalld_tui.screens.recall import Recall
from tests.support.daemon import Daemon, running
from tests.support.dashboard import (
    PAGE_OF,
    QUIET,
    compare,
    index_texts,
    lines_of,
    seen,
    shown,
    text_of,
    type_in,
    visit,
)
from tests.support.directories import short_directory

SIZES = ((80, 24), (160, 48))
QUESTION = "why did we leave the message broker"


@pytest.fixture(scope="module")
async def daemon(anyio_backend: str) -> AsyncIterator[Daemon]:
    with short_directory() as directory:
        async with running(directory / "state", **QUIET) as started:
            async with started.client() as client:
                await index_texts(client, directory / "memory")
            yield started


def memory_of(daemon: Daemon) -> Path:
    return daemon.state_dir.parent / "memory"


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_the_overview_says_how_it_stands_and_why(daemon: Daemon, size: tuple[int, int]) -> None:
    async with shown(daemon, size, still=True) as (app, pilot):
        await seen(pilot, lambda: app.status.stats is not None)
        await visit(pilot, "1")
        assert app.status.diagnosis.level is Level.NOTE
        assert "not calibrated" in lines_of(app)[0]
        compare(app, "overview")


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_a_question_is_answered(daemon: Daemon, size: tuple[int, int]) -> None:
    async with shown(daemon, size, still=True) as (app, pilot):
        await visit(pilot, "2")
        await type_in(pilot, QUESTION)
        await pilot.press("enter")
        await seen(pilot, lambda: "0002-no-broker.md" in text_of(app) and "asking" not in text_of(app))
        assert app.screen.reply.withheld[0].verdict == "superseded"
        compare(app, "recall")
        await pilot.press("t")
        assert "lexical" in text_of(app)
        compare(app, "recall-trace")


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_every_page_is_a_key_away(daemon: Daemon, size: tuple[int, int]) -> None:
    async with shown(daemon, size) as (app, pilot):
        for key in PAGE_OF:
            await visit(pilot, key)
            assert not [each for each in app._notifications if each.severity == "error"], text_of(app)
            if key == "4":
                await seen(pilot, lambda: "memory:decisions/0001-broker.md" in text_of(app).replace("…", ""))
        await visit(pilot, "4")
        await seen(pilot, lambda: app.screen.lineage is not None)
        assert [(each.old, each.new) for each in app.screen.lineage.replaced] == [
            ("decisions/0001-broker.md", "decisions/0002-no-broker.md")
        ]


async def test_a_hit_opens_its_document_at_its_lines_and_can_be_copied(daemon: Daemon) -> None:
    async with shown(daemon) as (app, pilot):
        await asked(app, pilot, QUESTION)
        await pilot.press("y")
        assert "> # We left the broker" in app.clipboard
        assert "memory:decisions/0002-no-broker.md" in app.clipboard and "Receipt: " in app.clipboard
        await pilot.press("enter")
        await seen(pilot, lambda: isinstance(app.screen, Document))
        assert any(line.strip().startswith("6 # We left the broker") for line in lines_of(app))
        await pilot.press("escape")
        assert isinstance(app.screen, Recall)


async def asked(app, pilot, question: str) -> None:  # type: ignore[no-untyped-def]
    await visit(pilot, "2")
    await pilot.press("slash")
    app.screen.query_one(Input).value = question
    before = app.screen.reply
    await pilot.press("enter")
    await seen(pilot, lambda: app.screen.reply not in (None, before))


async def test_as_of_asks_what_held_then(daemon: Daemon) -> None:
    async with shown(daemon) as (app, pilot):
        await asked(app, pilot, QUESTION)
        assert app.screen.reply.hits[0].path == "decisions/0002-no-broker.md"
        await pilot.press("a")
        await type_in(pilot, "yesterdayish")
        await pilot.press("enter")
        await seen(pilot, lambda: any("is not a moment" in each.message for each in app._notifications))
        await pilot.press("a")
        await type_in(pilot, "2024-06-01")
        await pilot.press("enter")
        await seen(pilot, lambda: app.screen.reply and app.screen.reply.hits[0].path == "decisions/0001-broker.md")
        assert "as of 2024-06-01" in text_of(app)


@pytest.mark.parametrize("question", ["ferry timetable backwards", "[red]ferry[/red] \x1b[31m timetable"])
async def test_hostile_text_is_shown_literally(daemon: Daemon, question: str) -> None:
    async with shown(daemon, (160, 48)) as (app, pilot):
        await asked(app, pilot, question)
        await seen(pilot, lambda: "[red]Ferry[/red]" in text_of(app))
        said = text_of(app)
        assert "\x1b" not in said and "\u202e" not in said
        assert "\N{REPLACEMENT CHARACTER}[31mFerry" in said
        await pilot.press("o")
        await seen(pilot, lambda: isinstance(app.screen, Document))
        said = text_of(app)
        assert "# [red]Ferry[/red] [link=https://evil.example]timetable[/]" in said
        assert "\N{REPLACEMENT CHARACTER}backwards [bold]x" in said and "\x1b" not in said


async def test_rows_are_cut_to_the_room_there_is_and_shared_anew_when_it_changes(daemon: Daemon) -> None:
    async with shown(daemon, (80, 24)) as (app, pilot):
        await visit(pilot, "5")
        await seen(pilot, lambda: "notes/broken.md:3  valid_from: while parsing" in text_of(app))
        assert any("notes/broken.md:3" in line and line.endswith("…") for line in lines_of(app))
        await pilot.resize_terminal(240, 48)
        await seen(pilot, lambda: any("notes/broken.md:3" in line and "…" not in line for line in lines_of(app)))
        await seen(pilot, lambda: "4 Memory  5 Lint  6 Lessons" in lines_of(app)[1])
        await pilot.resize_terminal(40, 24)
        await seen(pilot, lambda: any(line.startswith(" error") and line.endswith("…") for line in lines_of(app)))
        assert "4 5Lint 6" in lines_of(app)[1]


@pytest.mark.parametrize("size", [(60, 20), *SIZES], ids=str)
async def test_nothing_is_wider_than_its_room(daemon: Daemon, size: tuple[int, int]) -> None:
    async with shown(daemon, size) as (app, pilot):
        for key in PAGE_OF:
            await visit(pilot, key)
            await pilot.pause()
            wide = [each for each in app.screen.query("*") if each.scrollbar_size_horizontal]
            assert not wide and not any(each.max_scroll_x for each in app.screen.query(ScrollView)), text_of(app)
        await visit(pilot, "4")
        await seen(pilot, lambda: "0001-broker.md" in text_of(app))
        await pilot.press("o")
        await seen(pilot, lambda: isinstance(app.screen, Document))
        [lines] = app.screen.query(Lines)
        await seen(pilot, lambda: "The message broker stays." in text_of(app))
        assert not lines.show_horizontal_scrollbar and not lines.max_scroll_x


async def test_a_long_line_of_a_document_is_folded(daemon: Daemon) -> None:
    async with shown(daemon, (40, 24)) as (app, pilot):
        app.push_screen(Document(wide_document(), (3, 3)))
        await seen(pilot, lambda: "5 The end." in text_of(app))
        text = text_of(app)
        assert "3 " + "tide " * 6 in text and text.count("tide") == 20, text
        await pilot.resize_terminal(160, 24)
        await seen(pilot, lambda: " 3 " + "tide " * 19 + "tide" in text_of(app))


def wide_document() -> wire.GetReply:
    text = "# Long\n\n" + " ".join(["tide"] * 20) + "\n\nThe end.\n"
    return wire.GetReply.model_construct(repo="memory", path="long.md", title="Long", kind="note", text=text)


async def test_without_a_daemon_it_waits_and_goes_on_by_itself(daemon: Daemon) -> None:
    async with shown(daemon) as (app, pilot):
        await asked(app, pilot, QUESTION)
        await daemon.stop()
        await seen(pilot, lambda: app.status.diagnosis.level is Level.AWAY)
        assert "Reconnecting" in lines_of(app)[0]
        try:
            await pilot.press("1")
            await seen(pilot, lambda: "recalld run" in text_of(app))
        finally:
            await daemon.start()
        await seen(pilot, lambda: app.status.diagnosis.level is Level.NOTE, timeout_s=60)
        before = app.feed.total
        (memory_of(daemon) / "notes" / "late.md").write_text("# Late\n\nSaved after the restart.\n")
        await seen(pilot, lambda: app.feed.total > before and "late.md" in str(app.feed.kept[-1].data))
        (memory_of(daemon) / "notes" / "late.md").unlink()
        await seen(pilot, lambda: app.feed.kept[-1].topic == "deleted")


async def test_a_save_is_followed_until_a_search_finds_it(daemon: Daemon) -> None:
    async with shown(daemon, (160, 48)) as (app, pilot):
        await visit(pilot, "3")
        file = memory_of(daemon) / "notes" / "beacon.md"
        file.write_text("# Beacon\n\nThe beacon burns all night.\n")
        try:
            await seen(pilot, lambda: "recallable" in text_of(app))
            told = [line.split("│")[-2].strip() for line in lines_of(app) if line.endswith("│")]
            at = told.index("memory:notes/beacon.md")
            way = " ".join(told[at + 1 : at + 3])
            assert re.fullmatch(
                r"seen and queued at \d\d:\d\d:\d\d → indexed \S+ m?s later → recallable \S+ m?s later", way
            ), way
        finally:
            file.unlink()
        await seen(pilot, lambda: app.feed.kept[-1].topic == "deleted")


async def test_the_line_says_whether_keys_are_typed_into_it(daemon: Daemon) -> None:
    async with shown(daemon) as (app, pilot):
        await visit(pilot, "4")
        assert "/ to type" in text_of(app) and "f Forget" in lines_of(app)[-1]
        await pilot.press("slash")
        await type_in(pilot, "7?")
        assert app.screen.query_one(Input).value == "7?" and app.page is not None and app.page.NAME == "memory"
        assert "enter, or esc to leave" in text_of(app) and "esc Leave" in lines_of(app)[-1]
        assert "Forget" not in lines_of(app)[-1] and "F1 Help" in lines_of(app)[-1]
        await pilot.press("f1")
        assert "Forget" in text_of(app) and "command palette" in text_of(app)
        await pilot.press("f1", "escape")
        assert "/ to type" in text_of(app) and "F1" not in lines_of(app)[-1]
        await visit(pilot, "7")


async def test_help_palette_themes_and_mouse(daemon: Daemon) -> None:
    async with shown(daemon) as (app, pilot):
        await pilot.press("question_mark")
        assert "command palette" in text_of(app)
        await pilot.press("escape")
        dark = app.current_theme.dark
        await pilot.press("ctrl+t")
        assert app.current_theme.dark is not dark
        assert await pilot.click("#tab-recall")
        await seen(pilot, lambda: isinstance(app.screen, Recall))
        await pilot.press("escape", "ctrl+p")
        await type_in(pilot, "overview")
        await seen(pilot, lambda: "Go to Overview" in text_of(app))
        await pilot.press("enter")
        await seen(pilot, lambda: app.page is not None and PAGE_OF["1"] == app.page.NAME)


async def test_without_textual_it_says_what_to_install(tmp_path: Path) -> None:
    script = "import sys; sys.modules['textual'] = None; from recalld.cli import recall; recall()"
    line = [sys.executable, "-c", script, "dashboard", "--state-dir", str(tmp_path)]
    result = await to_thread.run_sync(lambda: subprocess.run(line, capture_output=True, text=True, check=False))
    assert (result.returncode, result.stdout) == (2, "")
    assert "pip install 'recalld[tui]'" in result.stderr


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (["--port", "9000"], 2, "--serve"),
        (["--serve", "--host", "0.0.0.0"], 4, "ssh -L"),
        (["--json"], 2, "recall stats --json"),
    ],
)
def test_wrong_use_is_named(options: list[str], status: int, words: str) -> None:
    result = CliRunner().invoke(recall, ["dashboard", *options])
    assert result.exit_code == status and words in result.output
