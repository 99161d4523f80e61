"""Calls at once, and the error that a task group wrapped.

A task group raises an ``ExceptionGroup`` also for a single fault; here callers get the fault itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import anyio

from recalld.errors import RecalldError

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
        raise fault(failures) from None
    return left[0], right


async def beside(helper: Callable[[], Awaitable[None]], call: Callable[[], Awaitable[A]]) -> A:
    """Return what a call returns, with a helper at work until then; when the helper fails, the call is cancelled."""

    async def help_on() -> None:
        await helper()

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(help_on)
            made = await call()
            group.cancel_scope.cancel()
    except BaseExceptionGroup as failures:
        raise fault(failures) from None
    return made


async def each(call: Callable[[A], Awaitable[B]], arguments: Iterable[A]) -> list[B]:
    """Make one call for each argument, all at once, and return what they returned, in order; else as :func:`both`."""
    made: dict[int, B] = {}

    async def run(number: int, argument: A) -> None:
        made[number] = await call(argument)

    try:
        async with anyio.create_task_group() as group:
            for number, argument in enumerate(arguments):
                group.start_soon(run, number, argument)
    except BaseExceptionGroup as failures:
        raise fault(failures) from None
    return [made[number] for number in range(len(made))]


def fault(error: BaseException) -> BaseException:
    """Return what a task group wrapped: one of our errors where there is one, else the first. Others as they are."""
    if isinstance(error, BaseExceptionGroup):
        error = error.subgroup(RecalldError) or error
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
