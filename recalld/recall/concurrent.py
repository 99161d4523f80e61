"""Two round trips at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

A = TypeVar("A")
B = TypeVar("B")


async def both(first: Callable[[], Awaitable[A]], second: Callable[[], Awaitable[B]]) -> tuple[A, B]:
    """Run two calls at once and return what both returned; when one fails, cancel the other and raise its error."""
    left: list[A] = []

    async def run_first() -> None:
        left.append(await first())

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(run_first)
            right = await second()
    except BaseExceptionGroup as failures:
        raise _only(failures) from None
    return left[0], right


def _only(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first fault: the other call was cancelled, or failed of the same cause."""
    fault: BaseException = failures
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    return fault
