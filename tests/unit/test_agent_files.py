"""Files of others with an agent's entries put in and taken out: byte for byte what they were, however odd."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recalld.cli import agent_blocks, agent_json
from recalld.cli.agent_kit import Client, Part, Scope, Start, State, install, parts, state, uninstall
from recalld.cli.hook_settings import Hook
from recalld.errors import RefusedError

HOOK = Hook(Path("/usr/bin/python3"), Path("/opt/lib/recalld_plugins/claude_code/hook.py"))
START = Start("recall", ["mcp", "--agent", "tester", "--state-dir", 'C:\\odd "dir" ü'], HOOK)
SCOPE = Scope(Path("/home/bob/shop"), Path("/home/bob/.codex"))
PARTS = {(client, part.what): part for client in Client for part in parts(client, SCOPE, START)}
SERVER, HOOKS = PARTS[Client.CLAUDE_CODE, "server"], PARTS[Client.CLAUDE_CODE, "hooks"]
TABLE, SECTION = PARTS[Client.CODEX, "server"], PARTS[Client.CODEX, "section"]

spaces = st.text(" \t\n", max_size=3) | st.sampled_from(["\r\n", "\r\n\t", "\n  "])
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
other_keys = st.text(max_size=4) | st.sampled_from(["model", "env", "recalld ", "mcp"])


def laid_out(value: Any, gaps: Iterator[str]) -> str:
    """A value as JSON, with space wherever JSON has room for it."""
    if isinstance(value, dict):
        members = [
            f"{next(gaps)}{json.dumps(key)}{next(gaps)}:{next(gaps)}{laid_out(each, gaps)}{next(gaps)}"
            for key, each in value.items()
        ]
        return "{" + (",".join(members) or next(gaps)) + "}"
    if isinstance(value, list):
        return "[" + (",".join(f"{next(gaps)}{laid_out(each, gaps)}{next(gaps)}" for each in value) or next(gaps)) + "]"
    return json.dumps(value, ensure_ascii=False)


values = st.recursive(
    scalars, lambda each: st.lists(each, max_size=3) | st.dictionaries(other_keys, each, max_size=3), max_leaves=6
)
others = st.dictionaries(st.text(max_size=4), values, max_size=2)
groups = st.lists(values | st.fixed_dictionaries({"hooks": st.lists(values, max_size=2)}), max_size=3)
events = st.dictionaries(st.sampled_from(["PreToolUse", "SessionStart", "Stop"]), groups, max_size=3)
settings = st.builds(
    lambda rest, known: {**rest, **known},
    others,
    st.fixed_dictionaries({}, optional={"hooks": events, "mcpServers": others}),
)


objects = st.builds(
    lambda value, gaps: "".join([gaps[0], laid_out(value, cycle(gaps)), gaps[-1]]),
    settings,
    st.lists(spaces, min_size=1, max_size=7),
)
json_files = st.none() | spaces | objects
"""A file of settings: missing, blank, or any object in any layout."""


@pytest.mark.parametrize("part", [SERVER, HOOKS], ids=lambda part: part.what)
@given(before=json_files)
def test_json_comes_back_byte_for_byte(part: Part, before: str | None) -> None:
    there = part.put(before)
    assert part.put(there) == there
    assert part.out(there) == before
    if before is not None:
        assert part.out(before) == before
    old, new = agent_json.read(before), json.loads(there)
    for key in ("mcpServers", "hooks"):
        old.pop(key, None), new.pop(key, None)
    assert old == new


@given(json_files)
def test_both_entries_of_one_file_come_out_in_any_order(before: str | None) -> None:
    there = HOOKS.put(SERVER.put(before))
    assert SERVER.out(HOOKS.out(there) or "") == before
    assert SERVER.out(there) == HOOKS.put(before) or before is None or not before.strip()


@given(others, json_files.filter(bool))
def test_what_was_added_meanwhile_stays(added: dict[str, Any], before: str) -> None:
    there = HOOKS.put(SERVER.put(before))
    edited = json.loads(there)
    edited["mcpServers"] |= {f"my {name}": value for name, value in added.items()}
    edited["hooks"].setdefault("Stop", []).append({"hooks": ["mine"]})
    left = json.loads(SERVER.out(HOOKS.out(json.dumps(edited, indent=3)) or "") or "{}")
    del edited["mcpServers"]["recalld"]
    wanted = {key: value for key, value in edited["hooks"].items() if "hook.py" not in json.dumps(value) or value[1:]}
    assert left.get("mcpServers", {}) == edited["mcpServers"]
    assert set(left["hooks"]) == set(wanted)
    assert left["hooks"]["Stop"][-1] == {"hooks": ["mine"]}
    assert "hook.py" not in json.dumps(left)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{\n  // mine\n  "a": 1\n}', "line 2, column 3"),
        ('{"a": 1,}', "line 1"),
        ('{"a": 1, "a": 2}', '"a" is there twice'),
        ("[]", "no JSON object"),
        ('{"mcpServers": []}', '"mcpServers" is no object'),
        ("\ufeff{}", "BOM"),
        ("\x0c", "odd spaces"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_json_that_cannot_be_changed_is_refused_by_name(text: str, why: str) -> None:
    with pytest.raises(RefusedError, match=re.escape(why)) as caught:
        install([SERVER], lambda _: text.encode())
    assert str(SERVER.path) in caught.value.message
    assert "left as it is" in caught.value.suggestion


def test_an_entry_in_a_file_looks_like_its_neighbours() -> None:
    before = '{\n\t"mcpServers": {\n\t\t"other": {"command": "x"}\n\t}\n}'
    assert agent_json.inserted(before, ("mcpServers", "recalld"), {"command": "r"}) == (
        '{\n\t"mcpServers": {\n\t\t"other": {"command": "x"},\n\t\t"recalld": {\n\t\t\t"command": "r"\n\t\t}\n\t}\n}'
    )
    assert agent_json.inserted('{"a": 1}', ("b", "c"), 2) == '{"a": 1,"b": { "c": 2 }}'


def test_an_entry_of_another_install_is_brought_up_to_date_with_what_a_person_added() -> None:
    there = '{"mcpServers": {"recalld": {"command": "old", "args": [], "env": {"A": "b"}}, "z": 1}}'
    updated = json.loads(SERVER.put(there))["mcpServers"]
    assert updated == {"recalld": {**START.entry(), "env": {"A": "b"}}, "z": 1}
    toml = '[mcp_servers.recalld]\ncommand = "old"\nenabled = false\n[mcp_servers.z]\ncommand = "z"\n'
    assert tomllib.loads(TABLE.put(toml))["mcp_servers"] == {
        "z": {"command": "z"},
        "recalld": {"command": "recall", "enabled": False, "args": list(START.arguments)},
    }


@pytest.mark.parametrize("options", [(), ("--state-dir", "/elsewhere")])
def test_a_hook_of_another_install_is_brought_up_to_date_with_its_own_options(options: tuple[str, ...]) -> None:
    old = Hook(Path("/old/python3"), HOOK.file, (*options, "--repo", "my shop", "--budget-ms", "150"), capture=True)
    mine = {"matcher": "Bash", "hooks": [{"type": "command", "command": "./mine.sh"}]}
    before = {"hooks": {event: [group, mine] for event, group in old.groups().items()}}
    new = Hook(HOOK.python, HOOK.file, ("--repo", "my shop", "--budget-ms", "150"), capture=True)
    assert json.loads(HOOKS.put(json.dumps(before, indent=1)))["hooks"] == {
        event: [mine, group] for event, group in new.groups().items()
    }
    assert state(HOOKS, lambda _: json.dumps(before).encode()) is State.OUTDATED


def test_hooks_that_are_there_are_left_as_they_were_made() -> None:
    other = Hook(Path("/usr/bin/python3"), HOOK.file, ("--repo", "shop"), capture=True)
    groups = {event: [group] for event, group in other.groups().items()}
    text = json.dumps({"hooks": groups})
    assert HOOKS.put(text) == text
    assert json.loads(HOOKS.out(text) or "") == {"hooks": {event: [] for event in groups}}


TOMLS = [
    "",
    "\n",
    "# only a comment",
    'model = "o4"  # mine\n',
    "a = 1\r\n[b]\r\nc = 2",
    "[mcp_servers.other]\ncommand = 'x'\nargs = [\n  '[a]', # one\n]\n\n\n",
    "mcp_servers.other.command = 'x'\n",
    "[mcp_servers]\n[mcp_servers.other]\nenv = { A = '[mcp_servers.recalld]' }\n# recalld: a note of mine\n",
    "x = '''\n[mcp_servers.recalld]\n'''\n",
    "\u2028 = 1\n".replace("\u2028", '"\u2028"'),
]
comments = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8).map(lambda text: f"# {text}")
lines = st.sampled_from(["", "   ", "[table]", "[[list]]", 'key = "v"', "n = 3 # x", "[mcp_servers.a]"]) | comments


@given(
    st.sampled_from(TOMLS)
    | st.builds(lambda lines, eol, end: eol.join(lines) + end, st.lists(lines, max_size=6), st.just("\n"), spaces)
)
def test_toml_comes_back_byte_for_byte(before: str) -> None:
    try:
        old = tomllib.loads(before)
    except tomllib.TOMLDecodeError:
        assume(False)
    there = TABLE.put(before)
    assert TABLE.put(there) == there
    assert TABLE.out(there) == before == TABLE.out(before)
    servers = {**old.get("mcp_servers", {}), "recalld": START.entry()}
    assert tomllib.loads(there) == old | {"mcp_servers": servers}


def test_a_toml_file_made_for_the_table_goes_with_it() -> None:
    assert TABLE.out(TABLE.put(None)) is None
    assert TABLE.out(TABLE.put("")) == ""


def test_toml_written_by_others_since_stays() -> None:
    there = TABLE.put('model = "o4"') + (
        '# about tools\n[mcp_servers.recalld.tools.recall_search]\napproval = "always"\n\n# mine\n[tui]\nbell = true\n'
    )
    assert TABLE.out(there) == 'model = "o4"\n# about tools\n\n# mine\n[tui]\nbell = true\n'


@pytest.mark.parametrize(
    "text",
    ["a = ", "mcp_servers = {}", "mcp_servers = 3", "[[mcp_servers]]", "mcp_servers = { recalld = { command = 'x' } }"],
)
def test_toml_without_room_is_refused(text: str) -> None:
    with pytest.raises(RefusedError, match=r"config\.toml"):
        install([TABLE], lambda _: text.encode())


@given(st.text(max_size=30) | st.lists(lines | st.sampled_from(["# A", "```", "\r", "-->"]), max_size=6).map("\n".join))
def test_markdown_comes_back_byte_for_byte(before: str) -> None:
    there = SECTION.put(before)
    assert SECTION.put(there) == there
    assert SECTION.out(there) == before == SECTION.out(before)
    assert SECTION.out(SECTION.put(None)) is None


@given(st.text(max_size=20), st.text(max_size=20))
def test_markdown_written_after_the_section_stays(before: str, after: str) -> None:
    left = SECTION.out(SECTION.put(before) + after)
    assert (left or "").replace("\n", "").replace("\r", "") == (before + after).replace("\n", "").replace("\r", "")
    assert (left or "").startswith(before) and (left or "").endswith(after)


def test_a_section_is_brought_up_to_date_in_its_place_and_marks_astray_are_refused() -> None:
    text = f"# A\n\n{agent_blocks.BEGIN}\nold\n{agent_blocks.END}\n# B\n"
    updated = SECTION.put(text)
    assert updated.startswith("# A\n\n<!-- recalld:begin") and updated.endswith("end -->\n# B\n")
    assert "\nold\n" not in updated
    for astray in (f"{agent_blocks.BEGIN}\nno end\n", f"{agent_blocks.END}\n", text + text):
        with pytest.raises(RefusedError, match=r"AGENTS\.md: recalld's marks"):
            install([SECTION], lambda _, text=astray: text.encode())


def test_a_guide_that_a_person_edited_is_left_alone() -> None:
    skill = PARTS[Client.CLAUDE_CODE, "skill"]
    text = skill.put(None)
    assert uninstall([skill], lambda _: text.encode())[0].after is None
    edited = text.replace("cite it", "quote it").encode()
    [change] = uninstall([skill], lambda _: edited)
    assert (change.edited, change.after) == (True, edited)
    assert state(skill, lambda _: edited) is State.EDITED
    with pytest.raises(RefusedError, match="not as recalld wrote it"):
        install([skill], lambda _: edited)


def test_a_plan_with_one_broken_file_is_no_plan() -> None:
    files = {SERVER.path: b"{}", HOOKS.path: b"{"}
    with pytest.raises(RefusedError, match=r"settings\.local\.json"):
        install(parts(Client.CLAUDE_CODE, SCOPE, START), files.get)
    with pytest.raises(RefusedError, match="not UTF-8"):
        install([SERVER], lambda _: b"\xff")
    assert state(HOOKS, files.get) is State.BROKEN
    assert state(SERVER, files.get) is State.ABSENT
