"""Each program after `recall agent install`: what stands in its files reaches a real daemon."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from anyio import to_thread

from tests.support.daemon import Daemon, running
from tests.support.directories import short_directory
from tests.support.mcp import call
from tests.support.repos import on_disk
from tests.support.waiting import until, until_indexed
from tests.support.wiring import FILES, client, install

LESSON = "---\ncheck: Is this branch yours alone?\n---\n# Never force-push a shared branch\n\nTwo commits were lost.\n"
PUSH = "git push --force origin shared-branch"


@pytest.fixture(scope="module")
async def daemon(anyio_backend: str) -> AsyncIterator[Daemon]:
    with short_directory() as directory:
        root = directory / "memory"
        (root / "lessons").mkdir(parents=True)
        (root / "lessons/force.md").write_text(LESSON)
        async with running(directory / "state", RECALLD_TRUST__CALIBRATE="off") as started:
            async with started.client() as asking:
                await asking.repo_add(str(root), name="memory")
                await until_indexed(asking, "memory", on_disk(root))

                async def fires() -> bool:
                    return bool((await asking.preflight(command=PUSH)).checks)

                await until(fires, timeout_s=30)
            yield started


@pytest.mark.parametrize("program", FILES)
async def test_the_server_in_its_file_answers_in_its_name(daemon: Daemon, tmp_path: Path, program: str) -> None:
    await install(program, tmp_path, daemon.state_dir)
    async with client(program, tmp_path) as session:
        _, told = await call(session, "recall_search", query="may I force-push a shared branch?")
        assert [hit["path"] for hit in told["hits"]][:1] == ["lessons/force.md"]
    async with daemon.client(program) as asking:
        assert (await asking.receipts(id=told["receipt"])).receipts


async def test_the_hook_in_the_settings_speaks_before_the_act(daemon: Daemon, tmp_path: Path) -> None:
    await install("claude-code", tmp_path, daemon.state_dir)
    settings = json.loads((tmp_path / ".claude/settings.local.json").read_text())
    command = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    event = {"cwd": str(tmp_path), "hook_event_name": "PreToolUse", "tool_name": "Bash", "session_id": "s"}
    given = json.dumps({**event, "tool_input": {"command": PUSH}})

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, shell=True, input=given, capture_output=True, text=True, check=True)

    said: list[str] = []

    async def speaks() -> bool:
        said.append((await to_thread.run_sync(run)).stdout)
        return "Is this branch yours alone?" in said[-1]

    await until(speaks, timeout_s=30)
    assert "additionalContext" in json.loads(said[-1])["hookSpecificOutput"]
