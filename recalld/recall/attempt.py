"""Calls to models that a search can do without: one that is warming up, fails or takes too long does not end it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import anyio

from recalld.errors import DependencyError, WarmingError
from recalld.model import State

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a model has no word in this search, and what the reply's state is without it."""

    state: State
    reason: str


async def attempt(call: Callable[[], Awaitable[T]], limit_s: float, model: str) -> T | Failure:
    """Return what a call to ``model`` returns within ``limit_s``, or why it does not."""
    try:
        with anyio.fail_after(limit_s):
            return await call()
    except WarmingError as error:
        return Failure(State.WARMING, error.message)
    except DependencyError as error:
        return Failure(State.DEGRADED, error.message)
    except TimeoutError:
        return Failure(State.DEGRADED, f"{model} took more than {limit_s:g} s")
    except Exception as error:
        log.exception("%s failed on a query", model)
        return Failure(State.DEGRADED, f"{model} failed: {type(error).__name__}: {error}")
