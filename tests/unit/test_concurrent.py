"""Calls at once: results in order, the fault itself and not its wrapping, and nothing left running."""

from __future__ import annotations

import anyio
import pytest

from recalld.concurrent import beside, both, each, fault
from recalld.errors import UsageError


async def test_results_come_in_the_order_of_the_arguments() -> None:
    last_is_done = anyio.Event()

    async def call(number: int) -> int:
        if number == 3:
            last_is_done.set()
        await last_is_done.wait()
        return number * number

    assert await each(call, [1, 2, 3]) == [1, 4, 9]
    assert await each(call, []) == []


async def test_a_fault_is_raised_as_it_is_and_ends_the_others() -> None:
    ended: list[str] = []
    has_begun = anyio.Event()

    async def forever() -> None:
        try:
            has_begun.set()
            await anyio.sleep_forever()
        finally:
            ended.append("forever")

    async def fail() -> None:
        await has_begun.wait()
        raise UsageError("no such mode")

    async def either(call: str) -> None:
        await (fail() if call == "fail" else forever())

    with pytest.raises(UsageError, match="no such mode"):
        await both(forever, fail)
    with pytest.raises(UsageError, match="no such mode"):
        await both(fail, forever)
    with pytest.raises(UsageError, match="no such mode"):
        await each(either, ["wait", "fail"])
    assert ended == ["forever"] * 3


def test_our_own_error_is_reported_before_another() -> None:
    ours = UsageError("ours")
    group = BaseExceptionGroup("outer", [OSError("theirs"), ExceptionGroup("inner", [ours])])
    assert fault(group) is ours
    assert str(fault(ExceptionGroup("outer", [OSError("theirs")]))) == "theirs"
    assert fault(ours) is ours


async def test_a_helper_ends_with_the_call_and_its_fault_ends_the_call() -> None:
    ended: list[str] = []

    async def forever(name: str) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(name)

    async def call() -> int:
        await anyio.lowlevel.checkpoint()
        return 7

    async def fail() -> None:
        await anyio.lowlevel.checkpoint()
        raise UsageError("nobody listens")

    assert await beside(lambda: forever("helper"), call) == 7
    with pytest.raises(UsageError, match="nobody listens"):
        await beside(fail, lambda: forever("call"))
    with pytest.raises(UsageError, match="nobody listens"):
        await beside(lambda: forever("helper"), fail)
    assert ended == ["helper", "call", "helper"]
