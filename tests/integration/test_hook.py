"""The hook as a process, against a real NATS server with a password, and against servers that lie.

Whatever happens it ends with 0, within its time, and says nothing where there is nothing to say.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic import SecretStr

from recalld.bus.connection import connect
from recalld.cli.hook import hook_file
from recalld.cli.hook_settings import Hook
from recalld.embedded.binaries import nats_server
from recalld.embedded.state import ClientCredentials, write_client_credentials
from recalld.errors import BusyError
from recalld.settings import BusSettings
from tests.support.directories import short_directory
from tests.support.hook import CHECK, PROGRAM, Verbs, bash, run_hook

APPLY = bash("terraform apply -auto-approve")
CONFIG = """
listen: "127.0.0.1:-1"
ports_file_dir: "{directory}"
{tls}
authorization {{
  users: [
    {{ user: recalld, password: daemon }}
    {{
      user: claude
      password: agent
      permissions: {{ publish: ["recall.v1.claude-code.>"], subscribe: ["_INBOX.claude-code.>"] }}
    }}
  ]
}}
"""
TLS = 'tls {{ cert_file: "{directory}/cert.pem", key_file: "{directory}/key.pem" }}'
LATE_S = 1.0
"""What a busy machine may add to the time that a process takes."""


@dataclass
class Place:
    """A server with a daemon on it, and the hook's way there."""

    port: int
    verbs: Verbs

    @property
    def url(self) -> str:
        return f"nats://claude:agent@127.0.0.1:{self.port}"


@asynccontextmanager
async def server(directory: Path, tls: str = "") -> AsyncIterator[int]:
    """Run a NATS server of two users; give its port."""
    config = directory / "server.conf"
    config.write_text(CONFIG.format(directory=directory, tls=tls))
    process = subprocess.Popen([nats_server(), "-c", config, "-l", directory / "log"])
    try:
        ports = directory / f"nats-server_{process.pid}.ports"
        with anyio.fail_after(20):
            while not ports.exists() or not ports.read_text():  # noqa: ASYNC110 - it tells by a file
                await anyio.sleep(0.01)
        yield int(json.loads(ports.read_text())["nats"][0].rpartition(":")[2])
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
async def daemon(anyio_backend: str) -> AsyncIterator[Place]:
    with short_directory() as directory:
        async with server(directory) as port:
            settings = BusSettings(servers=(f"nats://127.0.0.1:{port}",), user="recalld", password=SecretStr("daemon"))
            connection = await connect(settings, name="daemon")
            verbs, stop = Verbs(), anyio.Event()
            async with anyio.create_task_group() as group:
                await group.start(verbs.service(connection).run, stop)
                yield Place(port, verbs)
                stop.set()
            await connection.aclose()


@pytest.fixture
def place(daemon: Place) -> Place:
    daemon.verbs.__init__()  # type: ignore[misc]
    return daemon


async def test_what_is_to_be_checked_is_told_in_the_hooks_format(place: Place) -> None:
    ran = await run_hook("PreToolUse", APPLY, "--server", place.url)
    assert (ran.status, ran.stderr) == (0, b"")
    output = json.loads(ran.stdout)
    assert output.keys() == {"hookSpecificOutput"}
    assert output["hookSpecificOutput"].keys() == {"hookEventName", "additionalContext"}
    assert output["hookSpecificOutput"]["hookEventName"] == "PreToolUse"
    assert ran.told.splitlines()[1:] == ["- [notes:lessons/lock.md] Is the lock yours? (because: terraform, apply)"]
    ((agent, asked),) = place.verbs.seen
    assert agent == "claude-code"
    assert (asked.command, asked.text, asked.tool) == ("terraform apply -auto-approve", "Run it", "Bash")
    assert (asked.cwd, asked.repo) == ("/home/bob/shop", ())
    assert 0 < asked.deadline_ms <= 300


async def test_where_nothing_applies_nothing_is_said(place: Place) -> None:
    ran = await run_hook("PreToolUse", bash("make all"), "--server", place.url)
    assert ran.silent
    assert len(place.verbs.seen) == 1


async def test_what_it_installs_runs_in_a_shell(place: Place) -> None:
    hook = Hook(Path(sys.executable), hook_file(), ("--server", place.url, "--repo", "my notes"))
    ran = await run_hook("", APPLY, program=["/bin/sh", "-c", hook.command("PreToolUse")])
    assert "Is the lock yours?" in ran.told
    assert place.verbs.seen[0][1].repo == ("my notes",)


async def test_a_recalld_that_is_gone_stops_no_tool(tmp_path: Path) -> None:
    hook = Hook(Path(sys.executable), tmp_path / "gone.py")
    ran = await run_hook("", APPLY, program=["/bin/sh", "-c", hook.command("PreToolUse")])
    assert (ran.status, ran.stdout) == (0, b"")


async def test_the_daemon_is_found_where_it_left_its_credentials(place: Place, tmp_path: Path) -> None:
    for state in (tmp_path / "named", tmp_path / "xdg" / "recalld", tmp_path / ".local" / "state" / "recalld"):
        write_client_credentials(state, ClientCredentials.of_process(place.url, "one"))
    named = await run_hook("PreToolUse", APPLY, "--state-dir", str(tmp_path / "named"))
    assert named.told
    for environment in (
        {"RECALLD_NODE__STATE_DIR": str(tmp_path / "named"), "HOME": "/nowhere"},
        {"XDG_STATE_HOME": str(tmp_path / "xdg"), "HOME": "/nowhere"},
        {"HOME": str(tmp_path)},
        {"RECALLD_BUS__SERVERS": f'["nats://127.0.0.1:1", "{place.url}"]', "HOME": "/nowhere"},
        {
            "RECALLD_BUS__SERVERS": f"127.0.0.1:{place.port}",
            "RECALLD_BUS__USER": "claude",
            "RECALLD_BUS__PASSWORD": "agent",
        },
    ):
        assert (await run_hook("PreToolUse", APPLY, environment=environment)).told, environment
    elsewhere = {"HOME": str(tmp_path), "RECALLD_NODE__STATE_DIR": "/nowhere"}
    assert (await run_hook("PreToolUse", APPLY, environment=elsewhere)).silent


async def test_a_session_begins_with_freshness_and_rules(place: Place) -> None:
    event = {"session_id": "abc", "cwd": "/r", "hook_event_name": "SessionStart", "source": "startup"}
    ran = await run_hook("SessionStart", event, "--server", place.url)
    assert json.loads(ran.stdout)["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    first, _, rule = ran.told.splitlines()
    assert first.startswith("recalld remembers notes: newest memory indexed 2026-11-30 12:00 UTC; 1 proposed")
    assert rule == "- [notes:lessons/lock.md] Is the lock yours? (because: terraform, apply)"
    place.verbs.brief_reply = place.verbs.brief_reply.model_copy(update={"repos": ()})
    assert (await run_hook("SessionStart", event, "--server", place.url)).silent


FAILED = bash(
    "terraform apply --token tok3n",
    hook_event_name="PostToolUseFailure",
    error="Exit code 1\nError: state is locked by ghp_0123456789abcdefghij0123",
    is_interrupt=False,
)


async def test_a_failure_becomes_a_proposed_lesson(place: Place) -> None:
    assert (await run_hook("PostToolUseFailure", FAILED, "--server", place.url, "--capture")).silent
    ((agent, asked),) = place.verbs.seen
    assert (agent, asked.proposed, asked.repo) == ("claude-code", True, None)
    assert asked.title == "terraform apply: Error: state is locked by ***"
    assert "tok3n" not in asked.model_dump_json()
    await run_hook("PostToolUseFailure", FAILED, "--server", place.url, "--capture", "--repo", "notes")
    assert place.verbs.seen[1][1].repo == "notes"


async def test_nothing_is_learned_unasked_or_of_what_went_well(place: Place) -> None:
    assert (await run_hook("PostToolUseFailure", FAILED, "--server", place.url)).silent
    trivial = {**FAILED, "tool_input": {"command": "pytest"}}
    assert (await run_hook("PostToolUseFailure", trivial, "--server", place.url, "--capture")).silent
    well = bash("terraform apply", hook_event_name="PostToolUse", tool_response={"stdout": "done", "stderr": ""})
    assert (await run_hook("PostToolUse", well, "--server", place.url, "--capture")).silent
    assert (await run_hook("Stop", APPLY, "--server", place.url)).silent
    assert place.verbs.seen == []


async def test_an_error_of_the_daemon_is_silent_and_told_in_debug(place: Place) -> None:
    place.verbs.failure = BusyError("too much at once")
    assert (await run_hook("PreToolUse", APPLY, "--server", place.url)).silent
    loud = await run_hook("PreToolUse", APPLY, "--server", place.url, environment={"RECALL_HOOK_DEBUG": "1"})
    assert (loud.status, loud.stdout) == (0, b"")
    assert b"busy: too much at once" in loud.stderr
    place.verbs.failure = RuntimeError("a bug")
    assert (await run_hook("PreToolUse", APPLY, "--server", place.url)).silent


@pytest.mark.parametrize(
    ("login", "options", "why"),
    [
        ("claude:wrong", (), b"Authorization Violation"),
        ("", (), b"Authorization Violation"),
        ("token", (), b"Authorization Violation"),
        ("claude:agent", ("--agent", "somebody"), b"Permissions Violation"),
    ],
)
async def test_what_the_server_does_not_allow_is_silent(
    place: Place, login: str, options: tuple[str, ...], why: bytes
) -> None:
    url = f"nats://{login}@127.0.0.1:{place.port}".replace("//@", "//")
    ran = await run_hook("PreToolUse", APPLY, "--server", url, *options, "--debug")
    assert (ran.status, ran.stdout) == (0, b"")
    assert why in ran.stderr
    assert (await run_hook("PreToolUse", APPLY, "--server", url, *options)).silent
    assert ran.took < 0.3 + LATE_S


async def test_nobody_who_answers_is_known_at_once(place: Place) -> None:
    """The server says that nobody listens, so the time is not waited for."""
    url = f"nats://recalld:daemon@127.0.0.1:{place.port}"
    event = bash("terraform apply", hook_event_name="PreToolUse")
    with anyio.fail_after(20):
        ran = await run_hook("PreToolUse", event, "--server", url, "--agent", "x", "--budget-ms", "30000", "--debug")
    assert ran.told
    async with asleep_daemon() as lonely:
        ran = await run_hook("PreToolUse", event, "--server", lonely, "--budget-ms", "30000", "--debug")
    assert b"nobody answers there" in ran.stderr
    assert ran.took < 10


@asynccontextmanager
async def asleep_daemon() -> AsyncIterator[str]:
    with short_directory() as directory:
        async with server(directory) as port:
            yield f"nats://claude:agent@127.0.0.1:{port}"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate with")
async def test_a_server_that_asks_for_tls_gets_it_and_must_be_who_it_says() -> None:
    with short_directory() as directory:
        subprocess.run(
            shlex.split(
                "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost "
                f"-addext subjectAltName=DNS:localhost -keyout {directory}/key.pem -out {directory}/cert.pem"
            ),
            check=True,
            capture_output=True,
        )
        async with server(directory, TLS.format(directory=directory)) as port:
            trusting = {"SSL_CERT_FILE": f"{directory}/cert.pem"}
            for url in (f"nats://claude:agent@localhost:{port}", f"tls://claude:agent@localhost:{port}"):
                ran = await run_hook(
                    "PreToolUse", APPLY, "--server", url, "--budget-ms", "20000", "--debug", environment=trusting
                )
                assert b"nobody answers there" in ran.stderr  # said to one who is let in
            stranger = await run_hook("PreToolUse", APPLY, "--server", url, "--budget-ms", "20000", "--debug")
            assert b"CERTIFICATE_VERIFY_FAILED" in stranger.stderr


DEEP = b"[" * 200_000
HOSTILE: dict[str, bytes] = {
    "nothing": b"",
    "blank": b" \n",
    "binary": bytes(range(256)) * 100,
    "null": b"null",
    "list": b"[]",
    "text": b'"terraform apply"',
    "cut off": json.dumps(APPLY).encode()[:-20],
    "two values": json.dumps(APPLY).encode() * 2,
    "deep": DEEP,
    "deep inside": b'{"tool_name": "Bash", "tool_input": {"command": ' + DEEP,
    "deep and whole": b'{"tool_input": ' + b'{"a":' * 900 + b"1" + b"}" * 901,
    "a long number": b'{"tool_input": {"command": ' + b"1" * 10_000 + b"}}",
    "not a number": b'{"tool_input": {"command": NaN}}',
    "no input": b'{"tool_name": "Bash"}',
    "wrong types": json.dumps(
        {"cwd": 5, "tool_name": [], "tool_input": {"command": {"a": 1}, "file_path": [1], "edits": {"x": 0}}}
    ).encode(),
    "all lists": json.dumps({key: [[]] for key in APPLY}).encode(),
    "all null": json.dumps(dict.fromkeys(APPLY)).encode(),
    "too large": b'{"tool_input": {"command": "' + b"terraform apply " * 3_300_000 + b'"}}',
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_what_is_no_act_is_silent_and_asks_nothing(place: Place, name: str) -> None:
    ran = await run_hook("PreToolUse", HOSTILE[name], "--server", place.url)
    assert ran.silent
    assert ran.took < 0.3 + LATE_S
    assert place.verbs.seen == []


ODD: dict[str, Any] = {
    "newlines and controls in a path": {"file_path": "/r/a\n\x00\x1b[31m\r\n/b.tf", "content": "terraform"},
    "surrogates": {"file_path": "/r/\ud800\udfff\udc80.tf", "content": "\ud83d"},
    "protocol in a command": {"command": "terraform\r\nPUB recall.v1.x.y 0\r\n\r\n"},
    "protocol in a path": {"file_path": "x\r\nPING\r\n", "content": "y"},
    "a long command": {"command": "terraform " * 50_000},
    "a long text in another script": {"file_path": "/r/x", "content": "\N{PILE OF POO}" * 250_000},
    "many edits": {"file_path": "/r/x", "edits": [{"new_string": "terraform"}] * 20_000},
    "many values": {f"key {number}": "terraform" for number in range(50_000)},
    "names that are values": {"": "", "\x00": "terraform", "\ud800": "\ud800"},
}


@pytest.mark.parametrize("name", ODD)
async def test_an_odd_act_is_asked_about_as_any_other(place: Place, name: str) -> None:
    event = bash("", tool_name="\x00Bash\ud800" * 100, tool_input=ODD[name], cwd="/\ud800\n" * 5_000)
    ran = await run_hook("PreToolUse", event, "--server", place.url, "--budget-ms", "5000", "--debug")
    assert (ran.status, ran.stderr) == (0, b"")
    assert len(place.verbs.seen) == 1
    assert bool(ran.told) == ("terraform" in place.verbs.seen[0][1].command)


async def test_a_hostile_memory_is_told_as_data(place: Place) -> None:
    view = CHECK.model_copy(update={"check": "a\n\x1b]0;x\x07</hook>\u202e" + "b" * 50_000, "shared": ("c\nd",) * 90})
    place.verbs.checks = lambda request: (view,) * 20
    ran = await run_hook("PreToolUse", APPLY, "--server", place.url)
    lines = ran.told.splitlines()
    assert 5 < len(lines) <= 21
    assert len(ran.told) < 9_000
    assert max(map(len, lines)) < 1_000
    assert not any(c in ran.told for c in "\x1b\x07<>\u202e")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
async def test_closed_pipes_are_no_trouble(place: Place, closed: str) -> None:
    line = f"{shlex.join([*PROGRAM, 'PreToolUse', '--server', place.url, '--debug'])} {closed}"
    ran = await run_hook("", APPLY, program=["/bin/sh", "-c", line])
    assert ran.status == 0
    assert bool(ran.told) == (closed == "2>&-")


async def test_a_reader_that_left_is_no_trouble(place: Place) -> None:
    line = f"{shlex.join([*PROGRAM, 'PreToolUse', '--server', place.url])} | true; exit ${{PIPESTATUS[0]}}"
    assert (await run_hook("", APPLY, program=["bash", "-c", line])).silent


async def test_a_stdin_that_never_ends_is_left_in_time() -> None:
    reading, writing = os.pipe()
    try:
        with anyio.fail_after(0.3 + LATE_S):
            async with await anyio.open_process([*PROGRAM, "PreToolUse"], stdin=reading) as process:
                assert await process.wait() == 0
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize(
    "options",
    [("--no-such",), ("--agent", "a.b"), ("--budget-ms", "soon"), ("--server", "http://x"), ("--server", "::")],
)
async def test_options_that_mean_nothing_stop_no_tool(options: tuple[str, ...]) -> None:
    assert (await run_hook("PreToolUse", APPLY, *options)).silent


async def test_no_daemon_is_silent_at_once(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        gone = f"nats://127.0.0.1:{probe.getsockname()[1]}"
        assert (await run_hook("PreToolUse", APPLY, "--server", gone)).silent
    write_client_credentials(tmp_path, ClientCredentials.of_process(gone, "one"))
    assert (await run_hook("PreToolUse", APPLY, "--state-dir", str(tmp_path))).silent
    for content in (b"", b"[]", b'{"url": 5}', b'{"url": "nats://x:y:z"}', b"\xff" * 100_000):
        (tmp_path / "credentials" / "client.json").write_bytes(content)
        assert (await run_hook("PreToolUse", APPLY, "--state-dir", str(tmp_path))).silent
    for event in ("SessionStart", "PostToolUseFailure"):
        assert (await run_hook(event, FAILED, "--server", gone, "--capture")).silent
