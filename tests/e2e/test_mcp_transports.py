"""The MCP server as a process: who may speak over HTTP, what stdout carries, and daemons that come late or die."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from anyio import to_thread
from mcp import Client, MCPError
from mcp.shared._httpx_utils import create_mcp_http_client

from tests.support.daemon import Daemon, running
from tests.support.directories import short_directory
from tests.support.mcp import RECALL, Served, call, over_http, over_stdio, refused, serving
from tests.support.repos import on_disk
from tests.support.waiting import until, until_indexed


@pytest.fixture(scope="module")
async def daemon(anyio_backend: str) -> AsyncIterator[Daemon]:
    with short_directory() as directory:
        root = directory / "memory"
        root.mkdir()
        (root / "broker.md").write_text("# We keep the message broker\n\nThe message broker stays, for it is known.\n")
        async with running(directory / "state", RECALLD_TRUST__CALIBRATE="off") as started:
            async with started.client() as client:
                await client.repo_add(str(root), name="memory")
                await until_indexed(client, "memory", on_disk(root))
            yield started


@pytest.fixture(scope="module")
async def served(daemon: Daemon) -> AsyncIterator[Served]:
    async with serving(daemon.state_dir) as started:
        yield started


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"Authorization": "Basic {token}"}, 401),
        ({"Authorization": "Bearer {token}x"}, 401),
        ({"Authorization": "Bearer {token}", "Host": "evil.example"}, 421),
        ({"Authorization": "Bearer {token}", "Host": "127.0.0.1"}, 421),
        ({"Authorization": "Bearer {token}", "Origin": "https://evil.example"}, 403),
        ({"Authorization": "Bearer {token}", "Origin": "null"}, 403),
        ({"Authorization": "Bearer {token}"}, 200),
        ({"Authorization": "bearer {token}", "Host": "localhost:{port}", "Origin": "http://localhost:{port}"}, 200),
    ],
)
async def test_over_http_only_who_may_speak_is_heard(served: Served, headers: dict[str, str], status: int) -> None:
    port = served.url.rpartition(":")[2].partition("/")[0]
    shown = {name: value.format(token=served.token, port=port) for name, value in headers.items()}
    accept = {"Accept": "application/json, text/event-stream"}
    async with create_mcp_http_client() as http:
        reply = await http.post(served.url, json=INITIALIZE, headers={**accept, **shown})
    assert reply.status_code == status, reply.text
    assert served.token not in reply.text
    assert ("www-authenticate" in reply.headers) == (status == 401)


async def test_stdout_carries_the_protocol_alone(daemon: Daemon) -> None:
    hostile = '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"recall_search","arguments":'
    lines = [
        json.dumps(INITIALIZE),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        "this is no JSON",
        '{"jsonrpc":"2.0","id":9,"method":"no/such"}',
        hostile + '{"query":"\\ud800 \\u0000 broken"}}}',
        hostile.replace('"id":2', '"id":3') + '{"query":"the message broker"}}}',
    ]
    process = subprocess.Popen(
        [*RECALL, "--state-dir", str(daemon.state_dir)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("".join(f"{line}\n" for line in lines))
    process.stdin.flush()
    answers: dict[object, dict[str, object]] = {}
    while not {1, 3, 9} <= answers.keys():
        answer = json.loads(await to_thread.run_sync(process.stdout.readline))
        assert answer["jsonrpc"] == "2.0"
        answers[answer.get("id")] = answer
    rest, errors = await to_thread.run_sync(process.communicate)
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
    assert process.returncode == 0
    assert "Traceback" not in errors


async def test_without_the_sdk_it_says_what_to_install(tmp_path: Path) -> None:
    script = "import sys; sys.modules['mcp'] = None; from recalld.cli import recall; recall()"
    line = [RECALL[0], "-c", script, "mcp", "--state-dir", str(tmp_path)]
    result = await to_thread.run_sync(lambda: subprocess.run(line, capture_output=True, text=True, check=False))
    assert (result.returncode, result.stdout) == (2, "")
    assert "pip install 'recalld[mcp]'" in result.stderr


async def test_a_daemon_may_come_late(tmp_path: Path) -> None:
    async with over_stdio(tmp_path) as client:
        said = await refused(client, "recall_stats")
        assert said.startswith("error unreachable") and "recalld run" in said
        with pytest.raises(MCPError, match="recalld run"):
            await client.list_resources()
        assert (await client.list_tools()).tools and (await client.list_prompts()).prompts


async def test_a_daemon_may_die_and_come_back(daemon: Daemon, served: Served) -> None:
    async with over_stdio(daemon.state_dir) as one, over_http(served) as other:
        for client in (one, other):
            await call(client, "recall_stats")
        await daemon.kill()
        for client in (one, other):
            await until(lambda client=client: _nobody_answers(client), timeout_s=60)
        await daemon.start()
        for client in (one, other):
            await until(lambda client=client: _answers(client), timeout_s=60)


async def _answers(client: Client) -> bool:
    return not (await client.call_tool("recall_search", {"query": "the message broker"})).is_error


async def _nobody_answers(client: Client) -> bool:
    """Tell whether that is what is said; while the servers of a killed daemon still end, it is something else."""
    said = await refused(client, "recall_stats")
    return said.startswith("error unreachable") and "recalld run" in said
