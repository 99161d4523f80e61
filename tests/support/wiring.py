"""An agent's program wired in a fresh folder, and the server started by the entry that now stands in its file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anyio import to_thread
from mcp import Client, StdioServerParameters

FILES = {
    "claude-code": ".mcp.json",
    "codex": ".codex/config.toml",
    "cursor": ".cursor/mcp.json",
    "generic": "mcp.json",
}
"""Where each program keeps its servers, from a folder that is home and project."""


def _environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RECALLD_", "XDG_", "CODEX_"))}
    return {**kept, "HOME": str(home)}


async def install(program: str, home: Path, state_dir: Path) -> subprocess.CompletedProcess[str]:
    """Run `recall agent install` in a process of its own, as the README says; raise where it fails."""
    recall = [sys.executable, "-c", "from recalld.cli import recall; recall()"]
    command = [*recall, "agent", "install", program, "--yes", "--state-dir", str(state_dir)]

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=home, env=_environment(home), capture_output=True, text=True, check=True)

    return await to_thread.run_sync(run)


def entry(program: str, home: Path) -> Mapping[str, Any]:
    """Return the server that a program finds in its file."""
    text = (home / FILES[program]).read_text()
    if program == "codex":
        return tomllib.loads(text)["mcp_servers"]["recalld"]
    return json.loads(text)["mcpServers"]["recalld"]


def client(program: str, home: Path) -> Client:
    """Return the SDK's client over that entry."""
    found = entry(program, home)
    return Client(StdioServerParameters(command=found["command"], args=found["args"], env={"HOME": str(home)}))
