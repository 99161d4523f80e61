"""`recall agent` on real files: shown, asked, written whole, taken back, and the folder as it was."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from recalld.cli import agent_guide
from recalld.trust.verdict import Verdict
from recalld_plugins.mcp.tools import TOOLS
from tests.support.commands import is_known, run

CLIENTS = ("claude-code", "codex", "cursor", "generic")
THERE = {
    ".mcp.json": '{"mcpServers":{"other":{"command":"x"}}}',
    ".claude/settings.local.json": '{\n    "permissions": {"allow": []}\n}\n',
    ".cursor/mcp.json": "{ }",
    ".codex/config.toml": 'model = "o4" # mine\n\n[tui]\nbell = true',
    "AGENTS.md": "# Ours\r\n\r\nBe kind.\r\n",
    "mcp.json": "",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CODEX_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tree(root: Path) -> dict[str, bytes | None]:
    return {str(each.relative_to(root)): each.read_bytes() if each.is_file() else None for each in root.rglob("*")}


def fill(home: Path) -> None:
    for name, text in THERE.items():
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_bytes(text.encode())


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("filled", [True, False], ids=["files there", "bare"])
@pytest.mark.parametrize("user", ["", "--user"])
def test_what_was_installed_is_taken_back(home: Path, client: str, filled: bool, user: str) -> None:
    if filled:
        fill(home)
    before = tree(home)
    result = run(f"recall agent install {client} {user} --yes")
    if (client, user) == ("generic", "--user"):
        assert result.exit_code == 2
        assert "--project" in result.output
        return
    assert result.exit_code == 0, result.output
    between = tree(home)
    assert between != before
    again = run(f"recall agent install {client} {user} --yes")
    assert "installed already" in again.output and "+" not in again.output
    assert tree(home) == between
    assert run(f"recall agent uninstall {client} {user} --yes").exit_code == 0
    assert tree(home) == before
    gone = run(f"recall agent uninstall {client} {user}")
    assert gone.exit_code == 0
    assert "uninstalled already" in gone.output


def test_a_project_of_any_name_stays_though_it_is_empty_again(home: Path) -> None:
    project = home / "skills" / "recalld"
    project.mkdir(parents=True)
    for client in CLIENTS:
        assert run(f"recall agent install {client} --yes --project {project}").exit_code == 0
    for client in CLIENTS:
        assert run(f"recall agent uninstall {client} --yes --project {project}").exit_code == 0
    assert tree(home) == {"skills": None, "skills/recalld": None}


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_nobody_to_ask_changes_nothing(home: Path, command: str) -> None:
    if command == "uninstall":
        run("recall agent install cursor --yes")
    before = tree(home)
    result = run(f"recall agent {command} cursor")
    assert result.exit_code == 2
    assert "add --yes" in result.stderr
    assert tree(home) == before
    dry = run(f"recall agent {command} cursor --dry-run")
    assert dry.exit_code == 0
    assert f"would be {command}ed: server" in dry.output and '"recalld"' in dry.output
    assert tree(home) == before


@pytest.mark.parametrize(("answer", "status"), [("n\n", 4), ("y\n", 0)])
def test_a_person_is_shown_the_change_and_asked(home: Path, answer: str, status: int) -> None:
    person, terminal = os.openpty()
    try:
        os.write(person, answer.encode())
        command = [sys.executable, "-c", "from recalld.cli import recall; recall()", "agent", "install", "cursor"]
        result = subprocess.run(command, stdin=terminal, capture_output=True, text=True, check=False, cwd=home)
    finally:
        os.close(person)
        os.close(terminal)
    assert result.returncode == status, result.stderr
    assert '+    "recalld": {' in result.stdout
    assert "change 2 files? [y/N]" in result.stderr
    assert (home / ".cursor/mcp.json").exists() == (status == 0)
    assert ("left as it was" in result.stderr) == (status == 4)


def test_a_second_hook_in_the_shared_settings_is_told_of(home: Path) -> None:
    assert run("recall hook install --yes").exit_code == 0
    told = json.loads(run("recall agent install claude-code --yes --json").stdout)
    [note] = [note for note in told["notes"] if "both speak" in note]
    assert str(home / ".claude/settings.json") in note


def test_what_is_left_to_do_in_the_program_itself_is_told(home: Path) -> None:
    assert "start `claude` in the project and approve recalld" in run("recall agent install claude-code --yes").output
    assert "approve recalld" not in run("recall agent install claude-code --user --yes").output


def test_json_says_what_was_done(home: Path) -> None:
    told = json.loads(run("recall agent install claude-code --yes --json").stdout)
    assert told["installed"] is True
    assert [(each["part"], each["changed"], each["created"]) for each in told["files"]] == [
        ("server", True, True),
        ("hooks", True, True),
        ("skill", True, True),
    ]
    assert '+    "recalld": {' in told["files"][0]["diff"]
    dry = json.loads(run("recall agent uninstall claude-code --dry-run --json").stdout)
    assert (dry["uninstalled"], dry["dry_run"]) == (False, True)
    assert all(each["deleted"] for each in dry["files"])


def test_links_are_followed_and_modes_kept(home: Path) -> None:
    elsewhere = home / "dotfiles"
    elsewhere.mkdir()
    real = elsewhere / "claude.json"
    real.write_text('{"a": 1}')
    real.chmod(0o600)
    (home / ".claude.json").symlink_to(real)
    assert run("recall agent install claude-code --user --yes").exit_code == 0
    assert (home / ".claude.json").is_symlink()
    assert "recalld" in json.loads(real.read_text())["mcpServers"]
    assert real.stat().st_mode & 0o777 == 0o600
    assert run("recall agent uninstall claude-code --user --yes").exit_code == 0
    assert (real.read_text(), (home / ".claude.json").is_symlink()) == ('{"a": 1}', True)


def test_a_file_that_cannot_be_read_as_settings_stops_all_and_stays(home: Path) -> None:
    (home / ".mcp.json").write_text('{ // mine\n "a": 1}')
    before = tree(home)
    result = run("recall agent install claude-code --yes")
    assert result.exit_code == 4
    assert ".mcp.json" in result.stderr and "line 1" in result.stderr
    assert tree(home) == before
    status = run("recall agent status --json")
    assert status.exit_code == 1
    states = {(each["program"], each["part"]): each["state"] for each in json.loads(status.stdout)["parts"]}
    assert states["claude-code", "server"] == "broken"
    assert states["cursor", "server"] == "absent"


def test_status_tells_part_by_part(home: Path) -> None:
    run("recall agent install codex --yes")
    assert run("recall agent status").exit_code == 0
    run("recall agent install codex --agent reviewer --yes")
    result = run("recall agent status --json")
    states = {(each["program"], each["part"]): each["state"] for each in json.loads(result.stdout)["parts"]}
    assert (result.exit_code, states["codex", "server"], states["codex", "section"]) == (1, "outdated", "installed")
    assert states["claude-code", "skill"] == "absent"


def test_where_the_daemon_is_stands_in_the_entry_and_a_password_does_not(home: Path) -> None:
    run(f"recall agent install codex --yes --state-dir {home}/st --agent reviewer")
    entry = tomllib.loads((home / ".codex/config.toml").read_text())["mcp_servers"]["recalld"]
    assert entry["args"] == ["mcp", "--state-dir", f"{home}/st", "--agent", "reviewer"]
    assert is_known(shlex.join(["recall", *entry["args"]]))
    refused = run("recall agent install cursor --yes --server nats://bob:secret@host:4222")
    assert refused.exit_code == 4
    assert not (home / ".cursor").exists()
    assert run("recall agent uninstall codex --yes --server nats://bob:secret@host:4222").exit_code == 0
    assert not (home / ".codex").exists()
    assert run("recall agent install cursor --yes --project nowhere").exit_code == 2
    assert run("recall agent install cursor --yes --project . --user").exit_code == 2


def test_the_guide_explains_every_verdict_and_names_what_there_is() -> None:
    text = agent_guide.guide()
    assert [verdict for verdict in Verdict if f"`{verdict}`" not in text] == []
    named = {word for word in text.replace("`", " ").split() if word.startswith("recall_") and word != "recall_*"}
    assert named and named <= set(TOOLS)
    assert all(agent_guide.is_untouched(each) for each in (agent_guide.skill(), agent_guide.rule()))
    for each in (agent_guide.skill(), agent_guide.rule()):
        front = yaml.safe_load(each.split("---\n")[1])
        assert len(front["description"]) < 1_024
    assert yaml.safe_load(agent_guide.skill().split("---\n")[1])["name"] == "recalld"
