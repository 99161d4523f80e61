"""Claude Code's settings with and without the hook: what is not ours stays as it is."""

from __future__ import annotations

import copy
import json
import shlex
import sys
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.cli.hook import hook_file
from recalld.cli.hook_settings import Hook, installed, read, uninstalled, written
from recalld.errors import RefusedError
from tests.support.commands import run

FILE = PurePosixPath("/opt/my apps/lib/recalld_plugins/claude_code/hook.py")
HOOK = Hook(PurePosixPath("/usr/bin/python3"), FILE)
CAPTURING = Hook(PurePosixPath("/usr/bin/python3"), FILE, ("--budget-ms", "150"), capture=True)
OTHER: dict[str, Any] = {
    "matcher": "Bash",
    "hooks": [{"type": "command", "command": "./check.sh $CLAUDE_PROJECT_DIR", "timeout": 3}],
}

values = st.sampled_from([None, True, 7, "", "x", [], {}, [1], {"hooks": 3}, {"hooks": []}, {"command": 5}])
entries = values | st.sampled_from(OTHER["hooks"])
groups = values | st.fixed_dictionaries({"matcher": values, "hooks": st.lists(entries, min_size=1, max_size=3)})
events = st.dictionaries(
    st.sampled_from(["PreToolUse", "SessionStart", "PostToolUseFailure", "Stop"]),
    st.lists(groups, min_size=1, max_size=3),
    min_size=1,
    max_size=3,
)
settings_of_others = st.fixed_dictionaries({}, optional={"model": values, "hooks": events, "env": values})


@given(settings_of_others, st.sampled_from([HOOK, CAPTURING]))
def test_taking_out_gives_back_what_was_there(before: dict[str, Any], hook: Hook) -> None:
    kept = copy.deepcopy(before)
    there = installed(before, hook)
    assert installed(there, hook) == there
    assert list(there)[: len(before)] == list(before)
    assert uninstalled(there) == before == kept
    assert uninstalled(before) == before


@given(settings_of_others)
def test_another_install_takes_the_place_of_the_first(before: dict[str, Any]) -> None:
    assert installed(installed(before, CAPTURING), HOOK) == installed(before, HOOK)
    assert uninstalled(installed(installed(before, HOOK), CAPTURING)) == before


def test_ours_keeps_its_place_and_leaves_a_shared_group_alone() -> None:
    there = installed({"hooks": {"PreToolUse": [OTHER]}}, HOOK)
    mine = there["hooks"]["PreToolUse"][1]
    swapped = {"hooks": {"PreToolUse": [mine, OTHER]}}
    assert [group["matcher"] for group in installed(swapped, CAPTURING)["hooks"]["PreToolUse"]][1] == "Bash"
    shared = {"hooks": {"PreToolUse": [{**OTHER, "hooks": [*OTHER["hooks"], *mine["hooks"]]}]}}
    assert installed(shared, HOOK) == there | {"hooks": {"PreToolUse": [OTHER, mine], **_sessions(there)}}
    assert uninstalled(shared) == {"hooks": {"PreToolUse": [OTHER]}}


def _sessions(settings: dict[str, Any]) -> dict[str, Any]:
    return {"SessionStart": settings["hooks"]["SessionStart"]}


def test_a_command_names_all_and_cannot_fail() -> None:
    """Python ends with 2 for a file that is gone, which would stop every tool call."""
    command = CAPTURING.command("PostToolUseFailure")
    words = shlex.split(command)
    assert words[:5] == ["/usr/bin/python3", "-I", "-S", str(FILE), "PostToolUseFailure"]
    assert words[5:] == ["--budget-ms", "150", "--capture", "||", "true"]
    assert "--capture" not in CAPTURING.command("PreToolUse")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[]", "no JSON object"),
        ('"x"', "no JSON object"),
        ("{", "line 1, column 2"),
        ('{"a": 1} // mine', "line 1"),
        ('{"a": 1, "a": 2}', '"a" is there twice'),
        ("[" * 100_000, "nested too deeply"),
        ('{"hooks": []}', '"hooks" is no object'),
        ('{"hooks": {"Stop": {}}}', '"Stop" is no list'),
    ],
)
def test_what_is_no_settings_is_refused(text: str, what: str) -> None:
    with pytest.raises(RefusedError, match=what):
        installed(read(text), HOOK)


@pytest.mark.parametrize(
    "text",
    [
        '{\n    "a": 1,\n    "model": "größer"\n}\n',
        '{\n\t"a": {\n\t\t"b": []\n\t}\n}',
        '{"a": 1, "b": [2]}',
        '{\r\n  "a": 1\r\n}\r\n',
        '{\n  "a": "\\u00fc"\n}\n',
    ],
)
def test_the_layout_of_the_file_is_kept(text: str) -> None:
    assert written(read(text), text) == text
    there = written(installed(read(text), HOOK), text)
    assert written(uninstalled(read(there)), there) == text


def hook(line: str, home: Path) -> Any:
    return run(f"recall hook {line}", HOME=str(home), XDG_CONFIG_HOME=str(home), XDG_STATE_HOME=str(home))


def test_install_and_uninstall_write_the_file(tmp_path: Path) -> None:
    file = tmp_path / ".claude" / "settings.json"
    done = hook(f"install --project {tmp_path} --yes --capture", tmp_path)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "+++" in done.stdout
    assert f"installed in {file}" in done.stdout
    commands = [group["hooks"][0]["command"] for (group,) in json.loads(file.read_text())["hooks"].values()]
    assert all(command.startswith(f"{sys.executable} -I -S {hook_file()} ") for command in commands)
    again = hook(f"install --project {tmp_path} --capture", tmp_path)
    assert (again.exit_code, again.stdout) == (0, f"nothing to change: installed in {file} already\n")
    gone = hook(f"uninstall --project {tmp_path} --yes --json", tmp_path)
    assert json.loads(gone.stdout)["changed"] is True
    assert file.read_text() == "{}\n"


def test_of_a_user_and_of_a_project_are_different_files(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    assert hook("install --user --yes", tmp_path).exit_code == 0
    assert hook(f"install --project {project} --local --yes", tmp_path).exit_code == 0
    assert (tmp_path / ".claude" / "settings.json").is_file()
    assert [path.name for path in (project / ".claude").iterdir()] == ["settings.local.json"]
    assert hook(f"install --user --project {project} --yes", tmp_path).exit_code == 2
    assert hook(f"install --project {tmp_path / 'none'} --yes", tmp_path).exit_code == 2


def test_a_link_stays_one_and_the_mode_stays(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    real.chmod(0o600)
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").symlink_to(real)
    assert hook("install --user --yes", tmp_path).exit_code == 0
    assert (tmp_path / ".claude" / "settings.json").is_symlink()
    assert "hooks" in json.loads(real.read_text())
    assert real.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"[]", b"{broken", b"\xff\xfe"])
def test_a_file_that_is_no_settings_is_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".claude").mkdir()
    file = tmp_path / ".claude" / "settings.json"
    file.write_bytes(content)
    for line in ("install --user --yes", "uninstall --user --yes"):
        refused = hook(line, tmp_path)
        assert refused.exit_code == 4
        assert str(file) in refused.stderr
    assert file.read_bytes() == content


def test_without_an_answer_nothing_is_written(tmp_path: Path) -> None:
    shown = hook(f"install --project {tmp_path}", tmp_path)
    assert shown.exit_code == 4
    assert "hook.py PreToolUse" in shown.stdout
    assert "add --yes" in shown.stderr
    assert hook(f"install --project {tmp_path} --json", tmp_path).stdout == ""
    assert not (tmp_path / ".claude").exists()


def test_the_hook_is_told_where_the_daemon_is_but_no_password(tmp_path: Path) -> None:
    done = hook(
        "install --user --yes --json --server nats://bus:4222 --agent alice --repo notes --budget-ms 90", tmp_path
    )
    command = json.loads((tmp_path / ".claude" / "settings.json").read_text())["hooks"]["PreToolUse"][0]["hooks"][0]
    assert done.exit_code == 0
    assert command["command"].endswith("--server nats://bus:4222 --agent alice --repo notes --budget-ms 90 || true")
    assert hook("install --user --yes --server nats://me:secret@bus:4222", tmp_path).exit_code == 4
    elsewhere = hook(f"install --user --yes --state-dir '{tmp_path}/my state'", tmp_path)
    assert elsewhere.exit_code == 0
    assert f"--state-dir '{tmp_path}/my state'" in (tmp_path / ".claude" / "settings.json").read_text()
