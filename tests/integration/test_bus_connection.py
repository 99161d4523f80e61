"""The connection against real servers that go away and come back."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from recalld.bus.connection import Address, connect, open_connection
from recalld.bus.failures import ConnectionLostError
from recalld.bus.jobs import ACK_WAIT_S, consumer_config
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
            Consumer(str(config.name), consumer_config(ACK_WAIT_S), nothing),
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


MALFORMED = [b"NATS/1.0 \xff\xfe\xfd", b"NATS/1.0 404 \xff\xfe\r\nA: b", b"NATS/1.0\r\n\xff: \xfe", b"NATS/1.0\r\nX"]


async def test_a_malformed_header_is_survived(nats: str) -> None:
    """Anyone who may publish at all can send one, and nats-py's read loop ends at it without a word."""
    states = States()
    received: list[bytes] = []
    last = anyio.Event()

    async def on_message(message: Msg) -> None:
        received.append(message.data)
        if message.data == b"last":
            last.set()

    async with connected(nats, on_state=states) as connection, connected(nats) as sender:
        await connection.subscribe("test.x", on_message)
        for start in MALFORMED:
            header = start + b"\r\n\r\n"
            head = b"HPUB test.x %d %d\r\n" % (len(header), len(header) + 3)
            await sender.client._send_command(head + header + b"bad\r\n")
        await sender.publish("test.x", b"last")
        with anyio.fail_after(5):
            await last.wait()
    assert received == [b"bad"] * 4 + [b"last"]
    assert states.seen == ["connected", "closed"]


async def test_a_connection_that_stops_reading_is_made_again(nats: str) -> None:
    """Here by a flush of nats-py's own that is cancelled: its reply then meets a cancelled future."""
    states = States()
    async with connected(nats, on_state=states) as connection:
        async with anyio.create_task_group() as group:
            group.start_soon(Client.flush, connection.client)
            await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        await states.until("connected", "reconnecting", "connected", timeout=5)
        with pytest.raises(UnreachableError):
            await connection.request("test.nobody", b"", timeout=5)


async def test_a_flush_that_is_cancelled_leaves_the_connection_well(nats: str) -> None:
    states = States()
    async with connected(nats, on_state=states) as connection:
        for _ in range(20):
            with anyio.move_on_after(0):
                await connection.flush()
            async with anyio.create_task_group() as group:
                group.start_soon(connection.flush)
                await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()
        await connection.flush()
        with pytest.raises(UnreachableError):
            await connection.request("test.nobody", b"", timeout=5)
    assert states.seen == ["connected", "closed"]


async def test_a_subscription_is_known_to_the_server_when_it_is_made(nats: str) -> None:
    """nats-py's flush overtakes the subscription that it is to confirm."""

    async def answer(message: Msg) -> None:
        await message.respond(b"")

    async with connected(nats, with_streams=False) as connection, connected(nats, with_streams=False) as other:
        for number in range(200):
            await connection.subscribe(f"test.{number}", answer)
            await other.request(f"test.{number}", b"", timeout=5)
