"""Who may speak to the MCP server over HTTP, and where it listens."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from recalld.errors import ConfigError, UsageError
from recalld.settings import McpSettings, NodeSettings, Settings
from recalld_plugins.mcp.guard import Address, Guard, served_hosts
from recalld_plugins.mcp.token import token_of
from tests.support.commands import run

TOKEN = "0123456789abcdef"


async def nothing(scope: object, receive: object, send: object) -> None: ...


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:80", Address("127.0.0.1", 80)),
        (":9000", Address("127.0.0.1", 9000)),
        ("localhost", Address("localhost", 8573)),
        ("[::1]:0", Address("::1", 0)),
        ("Memory.Example.org:1", Address("memory.example.org", 1)),
    ],
)
def test_addresses(text: str, address: Address) -> None:
    assert Address.read(text) == address


@pytest.mark.parametrize("text", ["", ":", "a:b", "1.2.3.4:99999", "::1:80", "u@h:1", "h:1/x", "http://h:1", "[::1"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(UsageError):
        Address.read(text)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        *((host, True) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost")),
        *((host, False) for host in ("0.0.0.0", "::", "192.168.1.2", "memory.example.org", "localhost.example.org")),
    ],
)
def test_what_only_this_machine_reaches(host: str, loopback: bool) -> None:
    assert Address(host, 1).loopback is loopback


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"host": "127.0.0.1:8573"}, None),
        ({"host": "LOCALHOST:8573"}, None),
        ({"host": "[::1]:8573"}, None),
        ({"host": "memory.example.org"}, None),
        ({"host": "memory.example.org:443", "origin": "https://memory.example.org"}, None),
        ({"host": "one.example.org:1"}, None),
        ({"host": "one.example.org:2"}, "wrong_host"),
        ({"host": "one.example.org"}, "wrong_host"),
        ({"host": "127.0.0.1:8573:80"}, "wrong_host"),
        ({"host": "127.0.0.1"}, "wrong_host"),
        ({"host": "127.0.0.1:8573, 127.0.0.1:8573"}, "wrong_host"),
        ({"host": ""}, "wrong_host"),
        ({}, "wrong_host"),
        ({"host": "127.0.0.1:8573", "origin": ""}, "wrong_origin"),
        ({"host": "127.0.0.1:8573", "origin": "http://127.0.0.1:1"}, "wrong_origin"),
        ({"host": "127.0.0.1:8573", "origin": "http://memory.example.org.evil.example"}, "wrong_origin"),
        ({"host": "127.0.0.1:8573", "authorization": ""}, "invalid_token"),
        ({"host": "127.0.0.1:8573", "authorization": TOKEN}, "invalid_token"),
        ({"host": "127.0.0.1:8573", "authorization": f"Bearer {TOKEN}, Bearer {TOKEN}"}, "invalid_token"),
        ({"host": "127.0.0.1:8573", "authorization": "Bearer ä"}, "invalid_token"),
    ],
)
def test_requests(headers: dict[str, str], code: str | None) -> None:
    guard = Guard(nothing, TOKEN, served_hosts(Address(), ("memory.example.org", "one.example.org:1")))
    refusal = guard.refusal({"authorization": f"Bearer {TOKEN}", **headers})
    assert (refusal[1] if refusal else None) == code


def settings(state: Path, token: str | None = None) -> Settings:
    secret = SecretStr(token) if token is not None else None
    return Settings(node=NodeSettings(state_dir=state), mcp=McpSettings(token=secret))


def test_a_token_is_made_once_and_for_this_user_alone(tmp_path: Path) -> None:
    first = token_of(settings(tmp_path / "state"), made=True)
    assert first.file is not None and first.file.stat().st_mode & 0o777 == 0o600
    assert len(first.value) >= 32
    assert token_of(settings(tmp_path / "state"), made=True) == first
    assert token_of(settings(tmp_path / "state", TOKEN), made=True).value == TOKEN
    with pytest.raises(ConfigError, match=r"no mcp\.token"):
        token_of(settings(tmp_path / "state"), made=False)


@pytest.mark.parametrize("token", ["", "short", "with a space in it", "ünprintable-token", "line\nline-line-line"])
def test_what_is_no_token(tmp_path: Path, token: str) -> None:
    with pytest.raises(ConfigError, match="is no token"):
        token_of(settings(tmp_path, token), made=True)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("recall mcp --http 0.0.0.0:0", "mcp.token"),
        ("recall mcp --http nowhere:x", "is no address"),
        ("recall mcp 127.0.0.1:1", "--http"),
    ],
)
def test_wrong_usage_is_exit_status_2(line: str, said: str, tmp_path: Path) -> None:
    result = run(f"{line} --state-dir {tmp_path}", XDG_CONFIG_HOME=str(tmp_path))
    assert result.exit_code == 2 and said in result.stderr
    assert not result.stdout
