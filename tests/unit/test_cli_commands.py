"""What every command has: help with examples that work, the shared options, named errors and exit statuses."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import commands, is_known, run

ISSUE = {
    "recalld": {"run", "status", "doctor", "reload", "migrate", "config show", "config check"},
    "recall": {
        *("search", "get", "stats", "health", "reindex", "forget", "delta", "events", "demo"),
        *("receipts", "supersede", "check", "calibrate", "lint", "preflight", "brief", "mcp", "dashboard"),
        *("evaluate run", "evaluate explain", "evaluate compare", "evaluate schema", "evaluate check"),
        *("evaluate import", "evaluate propose", "evaluate ablate", "evaluate embedders", "evaluate finetune"),
        *("ask", "evidence", "sessions list", "sessions show", "sessions create", "sessions rename", "sessions delete"),
        *("episodes list", "episodes show", "episodes mark", "episodes forget", "episodes tidy"),
        *("hook install", "hook uninstall", "agent install", "agent uninstall", "agent status"),
        *("learn", "mark", "audit", "prune", "consolidate", "maintain", "undo"),
        *("lessons list", "lessons accept", "lessons reject", "lessons pin", "lessons unpin"),
        *("repo add", "repo list", "repo remove"),
        *("put", "documents list", "documents remove"),
        *("jobs list", "jobs run", "jobs cancel"),
    },
}


def test_the_commands_are_those_of_this_version() -> None:
    found = {tuple(line.split(" ", 1)) for line in commands()}
    assert found == {(program, name) for program, names in ISSUE.items() for name in names}


@pytest.mark.parametrize("line", commands())
def test_help_says_what_it_does_and_its_examples_exist(line: str) -> None:
    result = run(f"{line} --help", COLUMNS="200")
    assert result.exit_code == 0
    text, _, examples = result.stdout.partition("Examples:")
    assert f"Usage: {line}" in text
    assert "--json" in text
    lines = [example.strip() for example in examples.splitlines() if example.strip()]
    assert lines
    for example in lines:
        assert example.startswith(line), example
        assert is_known(example), example


@pytest.mark.parametrize(
    "line",
    [
        "recall",
        "recall serch foo",
        "recall search",
        "recall search foo --no-such-option",
        "recall search foo -k 0",
        "recall search foo -k many",
        "recall search foo --mode psychic",
        "recall search foo --since yesterdayish",
        "recall repo add /no/such/directory",
        "recalld run --set broken",
        "recalld run --set embed.modle=minilm",
        "recalld run --roles cook",
        "recalld run --config /no/such/file.toml",
        "recalld config check --set watch.mode=telepathy",
    ],
)
def test_wrong_usage_is_exit_status_2_and_says_so_on_stderr(line: str, tmp_path: Path) -> None:
    result = run(line, XDG_STATE_HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path))
    assert result.exit_code == 2
    if line != "recall":  # alone it prints its help
        assert result.stderr
        assert not result.stdout


@pytest.mark.parametrize("line", ["recall search foo", "recall stats", "recalld status", "recalld reload"])
def test_no_daemon_is_exit_status_3_and_says_how_to_start_one(line: str, tmp_path: Path) -> None:
    result = run(line, XDG_STATE_HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path))
    assert result.exit_code == 3
    assert "recalld run" in result.stderr
    assert str(tmp_path / "recalld") in result.stderr


def test_a_server_that_is_not_there_is_exit_status_3(tmp_path: Path) -> None:
    result = run("recall health --server nats://127.0.0.1:1", XDG_CONFIG_HOME=str(tmp_path))
    assert result.exit_code == 3
    assert "127.0.0.1:1" in result.stderr


def test_errors_are_json_where_the_output_is(tmp_path: Path) -> None:
    result = run("recall stats --json", XDG_STATE_HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path))
    assert result.exit_code == 3
    error = json.loads(result.stderr)["error"]
    assert error["code"] == "unreachable"
    assert error["suggestion"]


def test_the_shared_options_may_stand_before_the_command(tmp_path: Path) -> None:
    before = run(f"recall --json --state-dir {tmp_path / 'a'} stats", XDG_CONFIG_HOME=str(tmp_path))
    assert str(tmp_path / "a") in json.loads(before.stderr)["error"]["message"]
    both = run(f"recall --state-dir {tmp_path / 'a'} stats --state-dir {tmp_path / 'b'}", XDG_CONFIG_HOME=str(tmp_path))
    assert str(tmp_path / "b") in both.stderr


@pytest.mark.parametrize("program", ["recall", "recalld"])
def test_version(program: str) -> None:
    result = run(f"{program} --version")
    assert result.exit_code == 0
    assert re.fullmatch(r"recalld \d+\.\d+\.\d+\S*\n", result.stdout)


@pytest.mark.parametrize("program", ["recall", "recalld"])
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_are_offered_completion(program: str, shell: str) -> None:
    variable = f"_{program.upper()}_COMPLETE"
    script = subprocess.run(
        [sys.executable, "-c", f"from recalld.cli import {program}; {program}()"],
        env={variable: f"source_{shell}", "PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert script.returncode == 0, script.stderr
    assert variable in script.stdout


def test_a_client_starts_without_the_daemons_heavy_parts() -> None:
    script = (
        "import sys\n"
        "from recalld.cli import client_app\n"
        "print(*sys.modules)\n"
        "from recalld.cli.connection import client_of\n"
        "print(*sys.modules)\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    at_first, connecting = (set(line.split()) for line in result.stdout.splitlines())
    assert not at_first & {"anyio", "asyncio", "pydantic", "nats", "rich", "numpy"}
    assert not connecting & {"numpy", "asyncpg", "fastembed", "onnxruntime", "openvino", "tree_sitter"}


INTERRUPTED_AT_ITS_IMPORT = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path, target=None):
        if name == f"recalld.cli.{sys.argv[1]}":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
from recalld import cli
getattr(cli, sys.argv[2])()
"""


@pytest.mark.parametrize("names", [("client_app", "recall"), ("daemon_app", "recalld")])
def test_ctrl_c_while_a_program_starts_ends_it_without_a_traceback(names: tuple[str, str]) -> None:
    command = [sys.executable, "-c", INTERRUPTED_AT_ITS_IMPORT, *names]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (130, "")
