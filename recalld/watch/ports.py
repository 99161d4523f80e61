"""What watching needs from outside. The bus implements these; tests use an in-memory implementation."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from recalld.model import Finding, ManifestEntry, Position, Snapshot


class ManifestSource(Protocol):
    """Says what the index believes. Raises DependencyError, UnreachableError or DeadlineError when it cannot say."""

    async def manifest(self, repo: str) -> Mapping[str, ManifestEntry]:
        """Return every row of a repo by path, tombstones included."""
        ...

    async def entries(self, repo: str, paths: Sequence[str]) -> Mapping[str, ManifestEntry]:
        """Return the rows of any number of paths; a path that was never known is left out."""
        ...


class Publisher(Protocol):
    """Puts snapshots into the ingest stream."""

    async def publish(self, snapshot: Snapshot) -> Position:
        """Return where the snapshot stands once the stream holds it.

        Raises DependencyError or OSError when the stream cannot take it now, any other RecalldError when it
        never will.
        """
        ...


class Observer(Protocol):
    """Takes reports about a repo: everything that is not a document."""

    async def observe(
        self,
        repo: str,
        *,
        state: str | None = None,
        commit: str | None = None,
        scanned_at: datetime | None = None,
        findings: Sequence[Finding] = (),
        cleared: Sequence[str] = (),
        complete: bool = False,
    ) -> None:
        """Store a report; None means unchanged.

        ``state`` is watching, polling, scanning or offline. ``findings`` replace what was said of their paths before
        (the empty path is the repo itself), ``cleared`` paths have none left. ``complete`` says that all findings of
        the repo that are not in this report are gone, whoever watched before.
        """
        ...


@dataclass(frozen=True, slots=True)
class Clock:
    """The time: ``now`` with zone for people, ``time_ns`` since 1970 to compare with file times, ``monotonic`` in s."""

    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    time_ns: Callable[[], int] = time.time_ns
    monotonic: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything outside that the watching of node ``node`` works with. ``is_binary`` judges a file's content."""

    node: str
    index: ManifestSource
    publisher: Publisher
    observer: Observer
    is_binary: Callable[[bytes], bool]
    clock: Clock = field(default_factory=Clock)
