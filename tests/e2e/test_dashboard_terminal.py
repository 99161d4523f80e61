"""The dashboard in a terminal: `$EDITOR` takes its place at the line, and gives it back."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.daemon import Daemon, running
from tests.support.dashboard import QUIET, index_texts
from tests.support.directories import short_directory
from tests.support.terminal import Terminal, in_terminal

ASIDE, BACK = b"\x1b[?1049l", b"\x1b[?1049h"
"""What has a terminal show what was there before the dashboard, and the dashboard again."""


@pytest.fixture(scope="module")
async def daemon(anyio_backend: str) -> AsyncIterator[Daemon]:
    with short_directory() as directory:
        async with running(directory / "state", **QUIET) as started:
            async with started.client() as client:
                await index_texts(client, directory / "memory")
            yield started


def editor(directory: Path, name: str, ends_with: int = 0) -> tuple[Path, Path]:
    """Make an editor that only notes what it was told, and where; return it, and its note."""
    script, note = directory / name, directory / "note"
    script.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" > {note}.part\ntest -t 0 && mv {note}.part {note}\nexit {ends_with}\n'
    )
    script.chmod(0o755)
    return script, note


def dashboard(daemon: Daemon) -> list[str]:
    return [
        sys.executable,
        "-c",
        "from recalld.cli import recall; recall()",
        "dashboard",
        "--state-dir",
        str(daemon.state_dir),
    ]


async def at_the_finding(terminal: Terminal) -> None:
    await terminal.until(lambda said: b"Healthy" in said)
    terminal.type("5")
    await terminal.until(lambda said: b"first seen" in said)


@pytest.mark.parametrize(("name", "ends_with"), [("vim", 0), ("my-editor", 3)])
async def test_an_editor_opens_a_finding_at_its_line(daemon: Daemon, tmp_path: Path, name: str, ends_with: int) -> None:
    script, note = editor(tmp_path, name, ends_with)
    file = daemon.state_dir.parent / "memory" / "notes" / "broken.md"
    async with in_terminal(dashboard(daemon), {**os.environ, "EDITOR": str(script), "VISUAL": ""}) as terminal:
        await at_the_finding(terminal)
        terminal.type("e")
        await terminal.until(lambda said: ASIDE in said and BACK in said.split(ASIDE, 1)[1])
        *line, where = note.read_text().splitlines()
        assert where == str(file.resolve())
        assert line == (["+2"] if name == "vim" else [])
        terminal.type("9")
        await terminal.until(lambda said: b"settings in force" in said)
        terminal.type("q")
        assert await terminal.ended() == 0


async def test_an_editor_that_does_not_start_is_named(daemon: Daemon, tmp_path: Path) -> None:
    missing = str(tmp_path / "nowhere")
    async with in_terminal(dashboard(daemon), {**os.environ, "EDITOR": missing, "VISUAL": ""}) as terminal:
        await at_the_finding(terminal)
        terminal.type("e")
        await terminal.until(lambda said: b"does not start" in said)
        terminal.type("q")
        assert await terminal.ended() == 0
