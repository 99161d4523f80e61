"""The examples, as they are shipped: run against a real daemon, or held to the schemas that it publishes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import nats
import pytest
from anyio import to_thread
from anyio.streams.text import TextReceiveStream

from tests.support.daemon import Daemon, running
from tests.support.directories import short_directory
from tests.support.repos import on_disk
from tests.support.waiting import until, until_indexed

EXAMPLES = Path(__file__).parents[2] / "examples"
BODY = re.compile(r"""[`'](\{"query".*?\})[`']""")
PATIENCE_S = 60


@pytest.fixture(scope="module")
async def daemon(anyio_backend: str) -> AsyncIterator[Daemon]:
    with short_directory() as directory:
        root = directory / "memory"
        shutil.copytree(EXAMPLES / "memory", root)
        async with running(directory / "state", RECALLD_TRUST__CALIBRATE="off") as started:
            async with started.client() as client:
                await client.repo_add(str(root), name="memory")
                await until_indexed(client, "memory", on_disk(root))

                async def is_read() -> bool:
                    return (await client.preflight(text="x")).guardrails >= 2

                await until(is_read, timeout_s=30)
            yield started


@pytest.fixture(scope="module")
async def schemas(daemon: Daemon) -> dict[str, dict[str, Any]]:
    """What the daemon publishes of its search: the schemas of request and reply."""
    bus = await nats.connect(daemon.credentials().url)
    try:
        told = json.loads((await bus.request("$SRV.INFO.recalld", b"", timeout=10)).data)
    finally:
        await bus.close()
    [search] = [each for each in told["endpoints"] if each["subject"] == "recall.v1.*.search"]
    return {name: json.loads(search["metadata"][f"{name}_schema"]) for name in ("request", "reply")}


def environment(daemon: Daemon) -> dict[str, str]:
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    named = {"NATS_URL": daemon.credentials().url, "RECALLD_NODE__STATE_DIR": str(daemon.state_dir)}
    return {**os.environ, **named, "PATH": programs}


async def run(daemon: Daemon, *command: str) -> subprocess.CompletedProcess[str]:
    def wait() -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment(daemon))

    return await to_thread.run_sync(wait)


async def test_the_python_client_prints_verdicts(daemon: Daemon) -> None:
    result = await run(daemon, sys.executable, str(EXAMPLES / "python_client.py"))
    assert (result.returncode, result.stderr) == (0, "")
    assert "unverified decisions/0002-sessions-in-postgres.md [" in result.stdout
    empty = await run(daemon, sys.executable, str(EXAMPLES / "python_client.py"), "")
    assert empty.returncode == 2
    assert empty.stdout.startswith("bad_request ")


async def test_the_shell_asks_and_reads_the_exit_status(daemon: Daemon) -> None:
    result = await run(daemon, str(EXAMPLES / "shell.sh"))
    assert (result.returncode, result.stderr) == (0, "")
    assert "memory:decisions/0002-sessions-in-postgres.md" in result.stdout
    assert result.stdout.endswith("answered\n")
    nothing = await run(daemon, str(EXAMPLES / "shell.sh"), "sessions", "--path", "nowhere/**")
    assert (nothing.returncode, nothing.stdout.splitlines()[-1]) == (1, "the memory does not know")


@pytest.mark.parametrize(
    ("name", "agent"), [("shell.sh", "shell"), ("client.go", "go"), ("client.ts", "ts"), ("python_client.py", "python")]
)
async def test_what_is_sent_is_what_the_daemon_takes(
    daemon: Daemon, schemas: dict[str, dict[str, Any]], name: str, agent: str
) -> None:
    text = (EXAMPLES / name).read_text()
    found = BODY.findall(text) or re.findall(r"^REQUEST = (\{.*\})$", text, re.MULTILINE)
    [body] = found
    jsonschema.validate(json.loads(body), schemas["request"])
    subject = f"recall.v1.{agent}-example.search"
    assert subject in text
    bus = await nats.connect(daemon.credentials().url)
    try:
        reply = json.loads((await bus.request(subject, body.encode(), timeout=30)).data)
    finally:
        await bus.close()
    jsonschema.validate(reply, schemas["reply"])
    assert [hit["path"] for hit in reply["hits"]]


def fields(schema: dict[str, Any], model: str) -> set[str]:
    return set((schema if model == schema["title"] else schema["$defs"][model])["properties"])


ERROR = {"code", "message", "suggestion"}


def test_go_reads_fields_that_are_there(schemas: dict[str, dict[str, Any]]) -> None:
    text = (EXAMPLES / "client.go").read_text()
    structs = dict(re.findall(r"^type (\w+) struct \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL))
    read = {name: set(re.findall(r'`json:"(\w+)"`', body)) for name, body in structs.items()}
    held_to_the_schemas(read["hit"], read["reply"], read["failure"], schemas["reply"])
    named = {name.lower() for name in re.findall(r"(?:answer|each)(?:\.Error)?\.(\w+)", text)}
    assert named <= read["hit"] | read["reply"] | read["failure"]


def test_typescript_reads_fields_that_are_there(schemas: dict[str, dict[str, Any]]) -> None:
    text = (EXAMPLES / "client.ts").read_text()
    found = dict(re.findall(r"^interface (\w+) \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL))
    read = {name: set(re.findall(r"^  (\w+)\??:", body, re.MULTILINE)) for name, body in found.items()}
    held_to_the_schemas(read["Hit"], read["Reply"], read["Failure"], schemas["reply"])
    assert set(re.findall(r"\bhit\.(\w+)", text)) <= read["Hit"]
    assert set(re.findall(r"\breply\.(\w+)", text)) <= read["Reply"]


def held_to_the_schemas(hit: set[str], reply: set[str], failure: set[str], schema: dict[str, Any]) -> None:
    assert {"verdict", "path"} <= hit <= fields(schema, "Hit")
    assert {"hits", "abstained", "error"} <= reply <= fields(schema, "SearchReply") | {"error"}
    assert failure == ERROR


async def test_the_agent_backs_off_relies_hears_and_revises(daemon: Daemon) -> None:
    command = [sys.executable, str(EXAMPLES / "agent.py"), "--state-dir", str(daemon.state_dir)]
    successor = daemon.state_dir.parent / "memory/decisions/0003-cookies.md"
    with anyio.fail_after(PATIENCE_S):
        async with await anyio.open_process([*command, "--patience", str(PATIENCE_S)], stderr=None) as process:
            assert process.stdout is not None
            said = ""
            async for text in TextReceiveStream(process.stdout):
                said += text
                if "waiting for news of it\n" in said and not successor.exists():
                    shutil.copy(EXAMPLES / "memory-next.md", successor)
            status = await process.wait()
    lines = said.splitlines()
    assert status == 0, said
    assert lines[0] == "idea: Use Redis for sessions"
    assert any(line.startswith("check: ") and "0001-redis-for-sessions.md" in line for line in lines)
    assert "preflight: Do the login sessions survive a restart of the store?" in said
    [off] = [line for line in lines if line.startswith("backing off")]
    assert "was rejected [memory:decisions/0001-redis-for-sessions.md:" in off and "(unverified)" in off
    assert "its reason: Rejected because a restart of Redis logged every customer out" in said
    [relied] = [line for line in lines if line.startswith("relying on")]
    assert "[memory:decisions/0002-sessions-in-postgres.md:" in relied
    assert "heard: decisions/0002-sessions-in-postgres.md is superseded by decisions/0003-cookies.md" in lines
    assert lines[-1].startswith("revised, now relying on: 'Login sessions are signed cookies' [memory:decisions/0003")


async def test_an_agent_without_a_daemon_says_what_to_do(daemon: Daemon, tmp_path: Path) -> None:
    result = await run(daemon, sys.executable, str(EXAMPLES / "agent.py"), "--state-dir", str(tmp_path))
    assert (result.returncode, result.stderr) == (3, "no daemon: start one with `recalld run`\n")
