"""`recall mcp` as a program, and the SDK's own client to talk to it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types import CallToolResult, TextContent

START_TIMEOUT_S = 30.0
RECALL = [sys.executable, "-c", "from recalld.cli import recall; recall()", "mcp"]
MARKED = re.compile(r"^\| .*$", re.MULTILINE)
IN_QUOTES = re.compile(r'"(?:[^"\\\n]|\\.)*"')


def over_stdio(state_dir: Path, *, mode: str = "auto") -> Client:
    """A client that starts the server itself, as an agent's program does."""
    command, *arguments = RECALL
    parameters = StdioServerParameters(command=command, args=[*arguments, "--state-dir", str(state_dir)])
    return Client(parameters, mode=mode)


@dataclass(frozen=True)
class Served:
    """Where a server is, and what it wants to be shown."""

    url: str
    token: str


@asynccontextmanager
async def serving(state_dir: Path) -> AsyncIterator[Served]:
    """A server over HTTP, on a free port of loopback."""
    line = [*RECALL, "--http", "127.0.0.1:0", "--json", "--state-dir", str(state_dir)]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        with anyio.fail_after(START_TIMEOUT_S):
            said = json.loads(await to_thread.run_sync(process.stdout.readline, abandon_on_cancel=True))
        yield Served(said["url"], Path(said["token_file"]).read_text().strip())
    finally:
        process.terminate()
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(process.wait)
        process.stdout.close()


@asynccontextmanager
async def over_http(served: Served) -> AsyncIterator[Client]:
    """A client that shows the token."""
    async with (
        create_mcp_http_client(headers={"Authorization": f"Bearer {served.token}"}) as http,
        Client(streamable_http_client(served.url, http_client=http)) as client,
    ):
        yield client


def text_of(result: CallToolResult) -> str:
    """The one text of a tool's answer."""
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


def unquoted(text: str) -> str:
    """What the server says itself: the marked lines and what stands in double quotes taken out."""
    return IN_QUOTES.sub('""', MARKED.sub("|", text))


async def call(client: Client, name: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    """Call a tool that must work; return its text and its structure."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, text_of(result)
    assert isinstance(result.structured_content, dict)
    return text_of(result), result.structured_content


async def refused(client: Client, name: str, **arguments: Any) -> str:
    """Call a tool that must refuse; return what it says."""
    result = await client.call_tool(name, arguments)
    assert result.is_error, text_of(result)
    return text_of(result)
