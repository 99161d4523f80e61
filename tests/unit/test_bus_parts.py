"""The bus's pure parts: the outcome table, the backlog's order, and how things are written on the wire."""

from __future__ import annotations

import dataclasses
import json
import re

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.aio.client import Client
from nats.aio.msg import Msg

from recalld import errors
from recalld.bus import deliveries, service, wire
from recalld.bus.calls import named
from recalld.bus.connection import Address
from recalld.bus.deliveries import Backlog, Delivery
from recalld.bus.internal import IngestMessage
from recalld.bus.outcomes import Ack, Again, Keep, Outcome, SetAside, decide
from recalld.bus.remote_index import REQUEST_BYTES, split
from recalld.bus.streams import nanoseconds
from recalld.errors import (
    DependencyError,
    NotFoundError,
    RecalldError,
    Rejected,
    RetryLater,
    TooLargeError,
    UsageError,
    WarmingError,
)
from recalld.model import Position
from tests.support.bus import snapshot


@pytest.mark.parametrize(
    ("error", "attempt", "outcome"),
    [
        (None, 1, Ack()),
        (None, 99, Ack()),
        (Rejected("x"), 1, SetAside()),
        (UsageError("x"), 1, SetAside()),
        (TooLargeError("x"), 1, SetAside()),
        (DependencyError("x"), 1, Keep()),
        (DependencyError("x"), 99, Keep()),
        (WarmingError("x"), 6, Keep()),
        (ConnectionResetError(), 6, Keep()),
        (TimeoutError(), 6, Keep()),
        (RetryLater("x", after=7.5), 1, Again(7.5)),
        (RetryLater("x", after=7.5), 6, SetAside()),
        (RetryLater("x"), 3, Again(4.0)),
        (ValueError(), 1, Again(1.0)),
        (ValueError(), 2, Again(2.0)),
        (ValueError(), 5, Again(16.0)),
        (ValueError(), 6, SetAside()),
        (ValueError(), 7, SetAside()),
        (RecalldError("x"), 1, Again(1.0)),
    ],
)
def test_the_table(error: Exception | None, attempt: int, outcome: Outcome) -> None:
    assert decide(error, attempt=attempt, max_attempts=6) == outcome


def test_delays_have_an_end() -> None:
    assert decide(ValueError(), attempt=90, max_attempts=100) == Again(60.0)


def delivery(path: str, seq: int, *, attempt: int = 1, size: int = 1) -> Delivery:
    return Delivery(Msg(Client()), Position(1, seq), attempt, f"recall.ingest.memory.{path}", size=size)


def backlog(*waiting: Delivery, batch: int = 4, batch_bytes: int = 1_000) -> Backlog:
    made = Backlog(batch=batch, batch_bytes=batch_bytes)
    for each in waiting:
        made.add(each)
    return made


async def taken(log: Backlog) -> list[int]:
    with anyio.fail_after(1):
        return [each.position.seq for each in await log.next()]


async def test_batches_are_as_large_as_allowed_in_number_and_bytes() -> None:
    log = backlog(*[delivery(f"{n}", n, size=400) for n in range(1, 5)], batch=4)
    assert await taken(log) == [1, 2]
    assert await taken(log) == [3, 4]
    log = backlog(*[delivery(f"{n}", n) for n in range(1, 7)], batch=4)
    assert log.room == -2
    assert await taken(log) == [1, 2, 3, 4]
    assert log.room == 2
    assert len(log.held) == 6


async def test_a_file_larger_than_a_batch_goes_alone() -> None:
    log = backlog(delivery("a", 1, size=5_000), delivery("b", 2))
    assert await taken(log) == [1]


async def test_the_newer_state_of_a_file_takes_the_place_of_the_older() -> None:
    older, newer = delivery("a", 1), delivery("a", 2)
    log = backlog(older)
    assert log.add(newer) is older
    assert log.add(delivery("a", 1)) is not None
    assert log.add(delivery("a", 2, attempt=2)) is None
    assert await taken(log) == [2]


async def test_suspects_go_alone_one_at_a_time_in_turn_with_the_others() -> None:
    log = backlog(delivery("a", 1, attempt=3), delivery("b", 2, attempt=3), delivery("c", 3), delivery("d", 4), batch=1)
    assert await taken(log) == [3]
    (suspect,) = await log.next()
    assert suspect.position.seq == 1
    assert await taken(log) == [4]
    with anyio.move_on_after(0.05) as waited:
        await log.next()
    assert waited.cancelled_caught
    log.settled(suspect)
    assert await taken(log) == [2]


async def test_suspects_come_from_both_ends_in_turn() -> None:
    """So that one which ends the process keeps no other from being worked on for more than two rounds."""
    assert await taken(backlog(*[delivery(f"{n}", n, attempt=3) for n in range(1, 6)])) == [1]
    assert await taken(backlog(*[delivery(f"{n}", n, attempt=4) for n in range(1, 6)])) == [5]


async def test_what_was_put_back_waits_for_its_time() -> None:
    log = backlog(delivery("a", 1))
    (first,) = await log.next()
    begun = anyio.current_time()
    log.put_back(first, begun + 0.05)
    assert await taken(log) == [1]
    assert anyio.current_time() >= begun + 0.05


async def test_a_closed_backlog_gives_back_what_waits() -> None:
    log = backlog(delivery("a", 1), delivery("b", 2), batch=1)
    (working,) = await log.next()
    assert [each.position.seq for each in log.close()] == [2]
    assert await log.next() == []
    assert log.room == 0
    assert log.held == (working,)


async def test_all_who_wait_are_woken() -> None:
    log = backlog()
    got: list[list[int]] = []

    async def take() -> None:
        got.append(await taken(log))

    async with anyio.create_task_group() as group:
        group.start_soon(take)
        group.start_soon(take)
        await anyio.wait_all_tasks_blocked()
        log.add(delivery("a", 1))
        log.add(delivery("b", 2))
        await anyio.wait_all_tasks_blocked()
        log.close()
    assert sorted(got) in ([[], [1, 2]], [[1], [2]])


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1))
def test_a_header_is_ascii_and_says_the_same(path: str) -> None:
    sent = dataclasses.replace(snapshot("x"), path=path, commit=path)
    header = deliveries.encode(sent, "stored")
    assert re.fullmatch(r"[\x20-\x7e]+", header)
    read = IngestMessage.model_validate_json(header)
    assert (read.path, read.commit, read.object, read.size) == (path, path, "stored", 4)


@given(st.lists(st.text(max_size=300)))
def test_portions_are_all_of_it_and_fit(items: list[str]) -> None:
    portions = split(items, len, 50)
    assert [item for portion in portions for item in portion] == items
    assert all(1 <= len(portion) <= 50 for portion in portions)
    assert all(sum(2 * len(item) + 3 for item in portion) <= REQUEST_BYTES for portion in portions)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:01Z", 1_000_000_000),
        ("2026-11-30T20:10:58.708671234Z", 1_796_069_458_708_671_234),
        ("2026-11-30T20:10:58.5Z", 1_796_069_458_500_000_000),
    ],
)
def test_nanoseconds(text: str, expected: int) -> None:
    assert nanoseconds(text) == expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.1.0", "0.1.0"),
        ("1.2", "1.2.0"),
        ("1.2.3.dev4+g0abc.d2026", "1.2.3-dev4-g0abc-d2026"),
        ("1.2.3rc1", "1.2.3-rc1"),
        ("01.2.3", "1.2.3"),
        ("nonsense", "0.0.0"),
    ],
)
def test_a_version_is_made_semantic(version: str, expected: str) -> None:
    from nats.micro.service import SEMVER_REGEX

    assert service.semantic(version) == expected
    assert SEMVER_REGEX.match(expected)


@given(st.text(max_size=2_000))
def test_a_header_value_is_one_line_of_ascii(text: str) -> None:
    assert re.fullmatch(r"[\x20-\x7e]{0,500}", service.header(text))


def test_errors_come_back_as_what_they_were() -> None:
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, RecalldError) and kind is not RetryLater:
            error = named(wire.ErrorBody(code=kind.code, message="m", suggestion="s"))
            assert type(error) is kind
            assert (error.message, error.suggestion) == ("m", "s")
    unknown = named(wire.ErrorBody(code="from_the_future", message="m"))
    assert type(unknown) is RecalldError
    assert unknown.code == "from_the_future"
    assert RecalldError("m").code == "internal"
    assert isinstance(named(wire.ErrorBody(code="not_found", message="m")), NotFoundError)


def test_every_code_that_has_a_number_is_a_code() -> None:
    codes = {kind.code for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, RecalldError)}
    assert set(service.STATUS) <= codes


def test_a_validation_error_is_one_line() -> None:
    import pydantic

    with pytest.raises(pydantic.ValidationError) as raised:
        wire.SearchRequest.model_validate_json(json.dumps({"query": "", "k": 0, "colour": 1}))
    error = service.invalid("search", wire.SearchRequest, raised.value)
    assert "\n" not in error.message
    assert "query" in error.message
    assert "colour" in error.message
    assert "min_seq" in error.suggestion


def test_an_address_is_shown_without_its_secret() -> None:
    shown = str(Address(("nats://user:secret@host:4222", "nats://other:4222", "tls://t:s@[::1]:1")))
    assert "secret" not in shown
    assert shown.startswith("nats://host:4222, nats://other:4222")
