"""The connection against real servers that go away and come back."""

from __future__ import annotations

import anyio
import pytest
from nats.aio.msg import Msg

from recalld.bus.connection import Address, ConnectionLostError, connect, open_connection
from recalld.bus.jobs import consumer_config
from recalld.bus.pull import Consumer, Pull
from recalld.bus.streams import job_config
from recalld.errors import ConfigError, DependencyError, TooLargeError, UnreachableError
from recalld.settings import BusSettings
from tests.support.bus import States, connected, server


async def test_nobody_there_is_said_at_once() -> None:
    with anyio.fail_after(2), pytest.raises(DependencyError, match=r"127\.0\.0\.1:1"):
        await open_connection(Address(("nats://127.0.0.1:1",)), name="test", inbox="_INBOX.test")


async def test_each_server_is_tried(nats: str) -> None:
    address = Address(("nats://127.0.0.1:1", nats, "nats://127.0.0.1:2"))
    connection = await open_connection(address, name="test", inbox="_INBOX.test")
    assert connection.is_up
    await connection.aclose()


async def test_a_wrong_password_is_no_reason_to_wait(nats: str) -> None:
    wrong = nats.replace(":", ":x", 2).replace(":x//", "://")
    with anyio.fail_after(5), pytest.raises(ConfigError, match="refuses the user or password") as raised:
        await connect(BusSettings(servers=(wrong,)), name="test")
    assert "bus.password" in raised.value.suggestion
    assert wrong not in str(raised.value)


async def test_no_server_is_named() -> None:
    with pytest.raises(ConfigError, match=r"bus\.servers"):
        await connect(BusSettings(), name="test")


async def test_a_server_that_comes_while_it_is_waited_for() -> None:
    async with server() as nats:
        await nats.kill()
        async with anyio.create_task_group() as group:
            group.start_soon(nats.start)
            connection = await connect(BusSettings(servers=(nats.url,)), name="test")
        assert connection.is_up
        await connection.aclose()


async def test_the_connection_comes_back_by_itself() -> None:
    states = States()
    async with server() as nats, connected(nats.url, on_state=states) as connection:
        await nats.kill()
        await states.until("connected", "reconnecting")
        assert not connection.is_up
        with pytest.raises(DependencyError, match="no connection"):
            await connection.publish("recall.event.x", b"")
        await nats.start()
        await states.until("connected", "reconnecting", "connected")
        await connection.publish("recall.event.x", b"")
        assert connection.session == 2
    assert states.seen[-1] == "closed"


async def test_a_request_whose_reply_was_lost_with_the_connection_is_not_waited_for() -> None:
    asked = anyio.Event()

    async def never(message: Msg) -> None:
        asked.set()

    async with server() as nats, connected(nats.url) as connection:
        await connection.subscribe("test.never", never)
        failures: list[Exception] = []

        async def ask() -> None:
            try:
                await connection.request("test.never", b"", timeout=60)
            except ConnectionLostError as error:
                failures.append(error)

        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(ask)
                await asked.wait()
                await nats.kill()
        assert len(failures) == 1


async def test_nobody_answers_and_too_large(nats: str) -> None:
    async with connected(nats) as connection:
        with pytest.raises(UnreachableError):
            await connection.request("test.nobody", b"", timeout=5)
        with pytest.raises(TooLargeError, match="larger"):
            await connection.publish("test.large", b"x" * (connection.max_payload + 1))
        with pytest.raises(TooLargeError, match="larger"):
            await connection.publish("test.large", b"x" * (connection.max_payload - 10), headers={"Name": "v" * 20})
        assert connection.is_up


async def test_closing_does_not_hang_on_a_pull_that_was_idle(nats: str) -> None:
    """nats-py's fetch leaves status messages behind, and a drain then sits out its whole time-out."""

    async def nothing() -> None:
        return

    async with connected(nats) as connection:
        config = job_config()
        pull = Pull(
            connection,
            Consumer(str(config.name), consumer_config(), nothing),
            room=lambda: 5,
            take=lambda message: None,
        )
        async with anyio.create_task_group() as group:
            group.start_soon(pull.run)
            await pull.until_ready()
            await connection.flush()
            await pull.close()
        begun = anyio.current_time()
    assert anyio.current_time() - begun < 1


async def test_the_end_that_nobody_asked_for_is_told(nats: str) -> None:
    """nats-py gives up on any error of the server that it does not know, here a message over the server's limit."""
    states = States()
    async with connected(nats, on_state=states) as connection:
        await connection.client._send_publish("test.large", "", b"x" * (2 << 20), 2 << 20, None)
        with anyio.fail_after(10):
            await connection.lost()
        await states.until("closed")
        with pytest.raises(DependencyError):
            await connection.publish("test.x", b"")
