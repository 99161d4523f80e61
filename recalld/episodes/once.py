"""What is made when it is first wanted, and then kept."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Once(Generic[T]):
    """Makes something once. What fails is tried again when it is next wanted."""

    def __init__(self, make: Callable[[], Awaitable[T]]) -> None:
        self._make = make
        self._made: list[T] = []

    async def __call__(self) -> T:
        """Return it."""
        if not self._made:
            self._made.append(await self._make())
        return self._made[0]
