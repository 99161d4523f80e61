"""What docs/mcp.md shows is what there is: entries that start the server, tools, settings."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from recalld.configuration import flatten
from recalld.settings import Settings
from recalld_plugins.mcp.tools import TOOLS
from tests.support.commands import is_known

TEXT = (Path(__file__).parents[2] / "docs/mcp.md").read_text()


def shown(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


ENTRIES = [
    *(json.loads(block)["mcpServers"]["recalld"] for block in shown("json")),
    *(tomllib.loads(block)["mcp_servers"]["recalld"] for block in shown("toml")),
]


@pytest.mark.parametrize("entry", ENTRIES)
def test_each_entry_means_this_server(entry: dict[str, object]) -> None:
    if "command" in entry:
        assert is_known(" ".join([str(entry["command"]), *entry["args"]]))
    else:
        assert entry["url"] == "http://127.0.0.1:8573/mcp"


def test_the_tools_listed_are_the_tools() -> None:
    rows = re.findall(r"^\| `(recall_\w+)` \|.*\| (.+) \|$", TEXT, re.MULTILINE)
    assert [name for name, _ in rows] == list(TOOLS)
    assert [name for name, changes in rows if changes == "nothing"] == [
        name for name, tool in TOOLS.items() if tool.effects.read_only
    ]


def test_the_settings_named_exist() -> None:
    known = {key for key, _ in flatten(Settings())}
    assert set(re.findall(r"`((?:mcp|bus)\.[a-z_]+)`", TEXT)) <= known
    for name in re.findall(r"RECALLD_([A-Z_]+)", TEXT):
        assert name.lower().replace("__", ".") in known
