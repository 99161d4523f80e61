"""What the index holds, or will hold once it has worked off what this node published.

The manifest lags behind the ingest stream. What was published lies over it until it has caught up, so that a rescan
does not publish it again; an index that lost data is noticed, and then everything is published again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from recalld.model import DocumentState, FileStat, ManifestEntry, Position
from recalld.watch.compare import is_document, is_racy

OVERTAKEN_S = 300.0
"""A publish that later ones overtook this long ago (seconds) will not be indexed any more: publish it again."""
STALLED_S = 1800.0
"""So will one that waits while the index as a whole has not moved for this long (seconds)."""


@dataclass(frozen=True, slots=True)
class _Published:
    entry: ManifestEntry
    at: float


@dataclass(frozen=True, slots=True)
class _Read:
    stat: FileStat
    content_hash: str
    observed_ns: int


class Beliefs:
    """One repo's overlay over the manifest, and the hashes of files whose stat the manifest does not know."""

    def __init__(self) -> None:
        self.directories: set[str] = set()
        self._published: dict[str, _Published] = {}
        self._reads: dict[str, _Read] = {}
        self._newest: Position | None = None
        self._moved_at = 0.0

    def published(self, entry: ManifestEntry, now: float) -> None:
        """Note what the stream took, as the manifest row that it will become. ``now`` is monotonic, in seconds."""
        self._published[entry.path] = _Published(entry, now)
        self._note_directories(entry)

    def believe(self, path: str, entry: ManifestEntry | None) -> ManifestEntry | None:
        """Return the newer of the manifest's row and what was published. A forgotten path stays forgotten."""
        own = self._published.get(path)
        if own is None:
            return entry
        if entry is not None and (entry.state is DocumentState.FORGOTTEN or entry.position >= own.entry.position):
            del self._published[path]
            return entry
        return own.entry

    def merge(self, manifest: Mapping[str, ManifestEntry], now: float) -> dict[str, ManifestEntry]:
        """Return a whole manifest with what was published laid over it, and forget what it has caught up with."""
        self._notice_loss(max((entry.position for entry in manifest.values()), default=None), now)
        believed = dict(manifest)
        for path, own in list(self._published.items()):
            if self._is_lost(own, now):
                del self._published[path]
                continue
            entry = self.believe(path, manifest.get(path))
            if entry is not None:
                believed[path] = entry
        self.directories = set()
        for entry in believed.values():
            self._note_directories(entry)
        return believed

    def _notice_loss(self, newest: Position | None, now: float) -> None:
        """Forget every publish when the manifest went back in time: the index was emptied or restored."""
        if self._newest is not None and (newest is None or newest < self._newest):
            self._published.clear()
        if newest != self._newest:
            self._newest, self._moved_at = newest, now

    def _is_lost(self, own: _Published, now: float) -> bool:
        position = own.entry.position
        if self._newest is not None and self._newest.epoch > position.epoch:
            return True
        overtaken = self._newest is not None and self._newest > position
        if overtaken and now - own.at > OVERTAKEN_S:
            return True
        return now - max(own.at, self._moved_at) > STALLED_S

    def _note_directories(self, entry: ManifestEntry) -> None:
        if is_document(entry):
            directory = entry.path.rpartition("/")[0]
            while directory and directory not in self.directories:
                self.directories.add(directory)
                directory = directory.rpartition("/")[0]

    def remember(self, path: str, stat: FileStat, content_hash: str, observed_ns: int) -> None:
        """Keep the hash of a file that was read for nothing: its stat changed and its content did not."""
        self._reads[path] = _Read(stat, content_hash, observed_ns)

    def hash_of(self, path: str, stat: FileStat) -> str | None:
        """Return the hash that a file with this stat had, None where that is not known for sure."""
        read = self._reads.get(path)
        if read is None or read.stat != stat or is_racy(stat, read.observed_ns):
            return None
        return read.content_hash

    def trim(self, files: Mapping[str, FileStat]) -> None:
        """Drop the hashes of files that a full scan no longer saw as they were."""
        self._reads = {path: read for path, read in self._reads.items() if files.get(path) == read.stat}

    @property
    def unconfirmed(self) -> int:
        """How many publishes the manifest has not been seen to hold yet."""
        return len(self._published)
