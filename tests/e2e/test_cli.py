"""The command line against a real daemon, as a user or a script runs it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from tests.support.daemon import Daemon, running
from tests.support.directories import short_directory
from tests.support.repos import on_disk, write_memos


@pytest.fixture(scope="module")
async def daemon(anyio_backend: str) -> AsyncIterator[Daemon]:
    with short_directory() as directory:
        async with running(directory / "state") as started:
            yield started


def command(daemon: Daemon, line: list[str]) -> list[str]:
    program, *words = line
    call = f"from recalld.cli import {program}; {program}()"
    return [sys.executable, "-c", call, *words, "--state-dir", str(daemon.state_dir)]


async def run(daemon: Daemon, *line: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, away from the event loop."""

    def call() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(daemon, list(line)),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    return await to_thread.run_sync(call)


@pytest.fixture
async def memory(daemon: Daemon, tmp_path: Path) -> AsyncIterator[Path]:
    """A repo of ten memos, indexed."""
    root = tmp_path / "memory"
    write_memos(root, range(10))
    added = await run(daemon, "recall", "repo", "add", str(root), "--wait")
    assert added.returncode == 0, added.stderr
    assert f"memory: watching {root}" in added.stdout
    yield root
    removed = await run(daemon, "recall", "repo", "remove", "memory", "--yes")
    assert removed.returncode == 0, removed.stderr


async def test_search_prints_hits_and_json_is_the_whole_reply(daemon: Daemon, memory: Path) -> None:
    people = await run(daemon, "recall", "search", "marker-4-v0", "memo")
    assert people.returncode == 0, people.stderr
    assert "memory:d000/m00004.md:" in people.stdout
    assert "unverified" in people.stdout
    assert "\x1b[" not in people.stdout
    program = await run(daemon, "recall", "search", "marker-4-v0", "--json", "-k", "2", "--trace")
    reply = json.loads(program.stdout)
    assert reply["hits"][0]["path"] == "d000/m00004.md"
    assert len(reply["hits"]) <= 2
    assert reply["trace"]
    assert reply["calibrated"] is False


async def test_nothing_found_is_exit_status_1(daemon: Daemon, memory: Path) -> None:
    nothing = await run(daemon, "recall", "search", "marker-4-v0", "--path", "elsewhere/**")
    assert nothing.returncode == 1
    assert "I don't know" in nothing.stdout


async def test_get_forget_and_undo(daemon: Daemon, memory: Path) -> None:
    path = memory / "d000" / "m00002.md"
    text = await run(daemon, "recall", "get", "d000/m00002.md", "--text")
    assert text.stdout == path.read_text()
    forgotten = await run(daemon, "recall", "forget", "memory:d000/m00002.md")
    assert forgotten.returncode == 0
    assert path.exists()
    gone = await run(daemon, "recall", "get", "d000/m00002.md")
    assert gone.returncode == 1
    assert "no document" in gone.stderr
    undone = await run(daemon, "recall", "forget", "d000/m00002.md", "--repo", "memory", "--undo")
    assert undone.returncode == 0, undone.stderr


async def test_delta_goes_on_from_its_cursor(daemon: Daemon, memory: Path) -> None:
    first = json.loads((await run(daemon, "recall", "delta", "--repo", "memory", "--json")).stdout)
    assert {change["path"] for change in first["changes"]} == set(on_disk(memory))
    again = json.loads((await run(daemon, "recall", "delta", "--since", first["cursor"], "--json")).stdout)
    assert again["changes"] == []


async def test_reindex_refuses_to_drop_half_a_repo_until_told(tmp_path: Path) -> None:
    root = tmp_path / "memory"
    write_memos(root, range(10))
    unwatched = {"RECALLD_WATCH__MODE": "poll", "RECALLD_WATCH__POLL_INTERVAL_S": "3600"}
    with short_directory() as directory:
        async with running(directory / "state", **unwatched) as daemon:
            assert (await run(daemon, "recall", "repo", "add", str(root), "--wait")).returncode == 0
            (root / "d000").rename(tmp_path / "away")  # at once: no look may find some of them gone, and others not
            refused = await run(daemon, "recall", "reindex", "--repo", "memory")
            assert refused.returncode == 4
            assert "--allow-prune" in refused.stderr
            stats = json.loads((await run(daemon, "recall", "stats", "--json")).stdout)
            assert stats["repos"][0]["documents"] == 10
            allowed = await run(daemon, "recall", "reindex", "--repo", "memory", "--allow-prune", "--json")
            assert allowed.returncode == 0, allowed.stderr
            assert json.loads(allowed.stdout)["reports"][0]["deleted"] == 10
            stats = json.loads((await run(daemon, "recall", "stats", "--json")).stdout)
            assert stats["repos"][0]["documents"] == 0


async def test_reindex_waits_until_all_is_indexed(daemon: Daemon, memory: Path) -> None:
    write_memos(memory, range(100, 140))
    report = await run(daemon, "recall", "reindex", "--repo", "memory")
    assert report.returncode == 0, report.stderr
    stats = json.loads((await run(daemon, "recall", "stats", "--json")).stdout)
    assert stats["repos"][0]["documents"] == 50
    again = json.loads((await run(daemon, "recall", "reindex", "--json")).stdout)["reports"][0]
    assert (again["seen"], again["changed"]) == (50, 0)
    missing = await run(daemon, "recall", "reindex", "--repo", "nowhere")
    assert missing.returncode == 1
    assert "repo list" in missing.stderr


async def test_stats_health_and_status_agree(daemon: Daemon, memory: Path) -> None:
    stats = json.loads((await run(daemon, "recall", "stats", "--json")).stdout)
    assert stats["repos"][0]["documents"] == 10
    status = await run(daemon, "recalld", "status", "--json")
    assert status.returncode == 0
    body = json.loads(status.stdout)
    assert body["pid"] == daemon.pid
    assert body["stats"]["repos"][0]["documents"] == 10
    for line in (("recall", "stats"), ("recall", "health"), ("recalld", "status"), ("recall", "repo", "list")):
        people = await run(daemon, *line)
        assert people.returncode == 0, (line, people.stderr)
        assert people.stdout


async def test_remove_asks_first_and_nobody_is_there(daemon: Daemon, memory: Path) -> None:
    refused = await run(daemon, "recall", "repo", "remove", "memory")
    assert refused.returncode == 4
    assert "--yes" in refused.stderr


async def test_events_are_followed_until_ctrl_c(daemon: Daemon, memory: Path) -> None:
    line = command(daemon, ["recall", "events", "--follow", "--json", "--limit", "1"])
    async with await anyio.open_process(line, stdin=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        await process.stdout.receive()  # the one past event: now it listens
        (memory / "told.md").write_text("# Told\n\nby an event\n")
        with anyio.fail_after(30):
            while b"told.md" not in await process.stdout.receive():
                pass
        process.send_signal(signal.SIGINT)
        with anyio.fail_after(10):
            assert await process.wait() == 130
        assert process.stderr is not None
        assert b"".join([part async for part in process.stderr]) == b""


async def test_doctor_sees_the_running_daemon(daemon: Daemon, memory: Path) -> None:
    result = await run(daemon, "recalld", "doctor", "--set", "embed.model=hashing", "--json")
    assert result.returncode == 0, result.stdout
    checks = {check["name"]: check for check in json.loads(result.stdout)["checks"]}
    assert f"pid {daemon.pid}" in checks["daemon"]["detail"]
    assert checks["repos"]["detail"] == "1 readable"


@pytest.mark.parametrize(("mode", "status"), [(0o711, "ok"), (0o715, "degraded"), (0o713, "degraded")])
async def test_doctor_lets_others_pass_but_not_look(daemon: Daemon, mode: int, status: str) -> None:
    daemon.state_dir.chmod(mode)
    result = await run(daemon, "recalld", "doctor", "--set", "embed.model=hashing", "--json")
    checks = {check["name"]: check for check in json.loads(result.stdout)["checks"]}
    assert checks["state directory"]["status"] == status


async def test_the_readmes_python_works_as_shown(daemon: Daemon, memory: Path) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    shown = re.search(r"^```python\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert shown is not None
    script = shown[1].replace("why did we leave the message broker?", "marker-4-v0")
    environment = {**os.environ, "STATE_DIRECTORY": str(daemon.state_dir)}
    result = await to_thread.run_sync(
        lambda: subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60, check=False
        )
    )
    assert result.returncode == 0, result.stderr
    assert "d000/m00004.md" in result.stdout


async def test_a_closed_pipe_is_quiet(daemon: Daemon, memory: Path) -> None:
    line = command(daemon, ["recall", "search", "memo", "-k", "50"])
    reading, writing = os.pipe()
    os.close(reading)
    result = await to_thread.run_sync(
        lambda: subprocess.run(line, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    )
    os.close(writing)
    assert "Traceback" not in result.stderr
