"""The embedded NATS server: private, durable, and not shaken by what a killed daemon leaves."""

import os
import pwd
import signal
import socket
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import nats as client
import psutil
import pytest
from nats.js.api import StreamConfig

from recalld.embedded import binaries
from recalld.embedded import nats as module
from recalld.embedded.nats import Access, EmbeddedNats, handshake
from recalld.embedded.server import ServerEvent
from recalld.errors import ConfigError, DependencyError
from tests.support.directories import short_directory
from tests.support.embedded import ended, owner, python_for


@pytest.fixture
def state() -> Iterator[Path]:
    with short_directory() as directory:
        yield directory


async def _publish(url: str, *payloads: bytes) -> None:
    connection = await client.connect(url, allow_reconnect=False)
    try:
        jetstream = connection.jetstream()
        await jetstream.add_stream(StreamConfig(name="KEPT", subjects=["kept"]))
        for payload in payloads:
            await jetstream.publish("kept", payload)
    finally:
        await connection.close()


async def _stored(url: str) -> int:
    connection = await client.connect(url, allow_reconnect=False)
    try:
        return (await connection.jetstream().stream_info("KEPT")).state.messages
    finally:
        await connection.close()


async def test_streams_and_address_survive_a_restart_and_nothing_is_left_running(state: Path) -> None:
    async with await EmbeddedNats.start(state) as server:
        pid, url = server.pid, server.url
        await _publish(url, b"one")
    assert ended(pid)
    async with await EmbeddedNats.start(state) as server:
        assert server.url == url
        assert await _stored(url) == 1


async def test_it_is_private(state: Path) -> None:
    async with await EmbeddedNats.start(state) as server:
        listening = {c.laddr.ip for c in psutil.Process(server.pid).net_connections("inet") if c.status == "LISTEN"}
        assert listening == {"127.0.0.1"}
        for private in ("nats", "credentials", "nats/jetstream"):
            assert stat.S_IMODE((state / private).stat().st_mode) == 0o700
        for secret in ("nats/nats.conf", "credentials/nats.json"):
            assert stat.S_IMODE((state / secret).stat().st_mode) == 0o600
        port = urlsplit(server.url).port or 0
        for wrong in ("", "guessed"):
            with pytest.raises(ValueError, match="Authorization Violation"):
                await handshake(Access(port, wrong))


async def test_it_takes_the_largest_inline_snapshot(state: Path) -> None:
    async with await EmbeddedNats.start(state) as server:
        await _publish(server.url, bytes(512 << 10))
        assert await _stored(server.url) == 1


async def test_a_ctrl_c_in_the_terminal_is_not_for_it(state: Path) -> None:
    async with await EmbeddedNats.start(state) as server:
        assert os.getsid(server.pid) == server.pid != os.getsid(0)


async def test_an_orphan_is_adopted(state: Path) -> None:
    async with owner("nats", state) as daemon:
        daemon.kill()
        async with await EmbeddedNats.start(state) as server:
            assert server.pid == daemon.server_pid
            await _publish(server.url, b"one")
        assert ended(daemon.server_pid)


async def test_a_frozen_orphan_is_replaced(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PING_S", 0.3)
    monkeypatch.setattr(EmbeddedNats, "stop_steps", ((signal.SIGTERM, 0.2),))
    async with owner("nats", state) as daemon:
        daemon.kill()
        psutil.Process(daemon.server_pid).suspend()
        async with await EmbeddedNats.start(state) as server:
            assert server.pid != daemon.server_pid
            assert ended(daemon.server_pid)


async def test_an_orphan_with_other_settings_is_replaced(state: Path) -> None:
    async with owner("nats", state) as daemon:
        daemon.kill()
        async with await EmbeddedNats.start(state, options={"max_file_store": "1GB"}) as server:
            assert server.pid != daemon.server_pid
            assert ended(daemon.server_pid)


@pytest.mark.parametrize("pid", ["4194303", str(os.getpid()), "nonsense", ""], ids=["gone", "own", "nonsense", "none"])
async def test_a_stale_pid_file_is_no_obstacle(state: Path, pid: str) -> None:
    (state / "nats").mkdir()
    (state / "nats" / "nats.pid").write_text(pid)
    async with await EmbeddedNats.start(state) as server:
        await server.ping()


async def test_a_taken_port_is_left_to_its_owner(state: Path) -> None:
    async with await EmbeddedNats.start(state) as server:
        first = urlsplit(server.url)
    with closing(socket.create_server(("127.0.0.1", first.port or 0))):
        async with await EmbeddedNats.start(state) as server:
            second = urlsplit(server.url)
            assert second.port != first.port
            assert second.password == first.password
    async with await EmbeddedNats.start(state) as server:
        assert urlsplit(server.url).port == second.port


async def test_a_killed_server_comes_back_under_the_same_address_with_all_that_was_acknowledged(state: Path) -> None:
    events: list[ServerEvent] = []
    back = anyio.Event()

    def report(event: ServerEvent) -> None:
        events.append(event)
        if event.state == "up":
            back.set()

    async with await EmbeddedNats.start(state) as server, anyio.create_task_group() as tasks:
        tasks.start_soon(server.supervise, report)
        first, url = server.pid, server.url
        await _publish(url, *(bytes([n]) * 1_000 for n in range(100)))
        os.kill(first, signal.SIGKILL)
        with anyio.fail_after(20):
            await back.wait()
        assert (server.pid != first, server.url) == (True, url)
        assert await _stored(url) == 100
        assert [(event.state, event.exit_status) for event in events] == [("down", -9), ("up", -9)]
        tasks.cancel_scope.cancel()


async def test_a_server_that_crashes_again_and_again_is_given_up(state: Path) -> None:
    async with await EmbeddedNats.start(state) as server:

        def kill(event: ServerEvent) -> None:
            if event.state == "up":
                os.kill(server.pid, signal.SIGKILL)

        os.kill(server.pid, signal.SIGKILL)
        with pytest.raises(DependencyError, match="crashed 5 times"), anyio.fail_after(20):
            await server.supervise(kill)


async def test_a_refused_configuration_shows_the_servers_last_words(state: Path) -> None:
    with pytest.raises(DependencyError, match="no_such_option"):
        await EmbeddedNats.start(state, options={"no_such_option": "1"})


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests already run as an ordinary user")
async def test_it_works_for_an_ordinary_user(state: Path) -> None:
    try:
        python_for("nobody")
    except LookupError as error:
        pytest.skip(str(error))
    record = pwd.getpwnam("nobody")
    os.chown(state, record.pw_uid, record.pw_gid)
    async with owner("nats", state, user="nobody") as daemon:
        assert psutil.Process(daemon.server_pid).uids().real == record.pw_uid
    assert ended(daemon.server_pid)


def test_a_missing_extra_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "_from_wheel", lambda *_: None)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ConfigError) as caught:
        binaries.nats_server()
    assert "recalld[embedded]" in caught.value.suggestion
    monkeypatch.setattr(binaries, "POSTGRES_MAJOR", 99)
    with pytest.raises(ConfigError) as caught:
        binaries.postgres_bin()
    assert "recalld[embedded]" in caught.value.suggestion


def test_a_server_on_the_path_will_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(binaries, "_from_wheel", lambda *_: None)
    program = tmp_path / "nats-server"
    program.touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert binaries.nats_server() == program
