"""Spans of what a daemon does, for OpenTelemetry: named as the stages and steps in replies. Nothing is made of them
unless :mod:`recalld.tracing` sends them somewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import trace

_TRACER = trace.get_tracer("recalld")
_NS_A_SECOND = 1_000_000_000


@contextmanager
def span(name: str, **facts: str | int | float | bool) -> Iterator[trace.Span]:
    """Make what is done inside a span; what fails is marked so."""
    with _TRACER.start_as_current_span(name, attributes=facts) as current:
        yield current


def past(name: str, begun: float, **facts: str | int | float | bool) -> None:
    """Make a span of what began at ``begun`` (``perf_counter`` seconds) and ends now."""
    now = time.time_ns()
    start = now - int((time.perf_counter() - begun) * _NS_A_SECOND)
    _TRACER.start_span(name, start_time=start, attributes=facts).end(now)
