"""Work beside the screen: nothing that waits for the daemon holds up a key."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from textual.dom import DOMNode
from textual.worker import Worker


def begin(
    node: DOMNode, work: Callable[[], Coroutine[Any, Any, None]], group: str, *, exclusive: bool = False
) -> Worker[None]:
    """Start work that ends with the node; one that is ``exclusive`` ends what its group did before."""
    begun: Callable[[], Coroutine[None, None, None]] = work
    return node.run_worker(begun, group=group, exclusive=exclusive)
