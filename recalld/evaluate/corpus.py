"""The documents that are asked about: a folder, read by the rules that watching has."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from anyio import to_thread

from recalld.errors import NotFoundError, UsageError
from recalld.ingest.content import is_binary
from recalld.ingest.decode import decode
from recalld.ingest.report import Reporter
from recalld.model import FileStat, Operation, Snapshot
from recalld.watch.disk import Root, RootGoneError
from recalld.watch.ignore import Rules
from recalld.watch.scan import scan

REPO = "corpus"
MAX_FILE_BYTES = 8_388_608
"""Larger files are left out, as the watcher does (``watch.max_file_bytes``)."""


@dataclass(frozen=True)
class Corpus:
    """Files by path, each with its content and what the disk says of it; and those left out, with why."""

    files: Mapping[str, tuple[bytes, FileStat]]
    left_out: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def hashes(self) -> Mapping[str, str]:
        """The sha256 of each file's content."""
        return {path: hashlib.sha256(content).hexdigest() for path, (content, _) in self.files.items()}

    @cached_property
    def digest(self) -> str:
        """The sha256 of all paths and contents: two corpora with the same one are the same."""
        lines = "".join(f"{hash_}  {path}\n" for path, hash_ in sorted(self.hashes.items()))
        return hashlib.sha256(lines.encode()).hexdigest()

    @property
    def newest_first(self) -> list[str]:
        """The paths by the time when their files were last changed, then by themselves."""
        return sorted(self.files, key=lambda path: (-self.files[path][1].mtime_ns, path))

    def text(self, path: str) -> str:
        """Return a file's text as it is indexed, with LF line ends."""
        return decode(self.files[path][0], Reporter(path))

    def snapshot(self, path: str) -> Snapshot:
        """Return a file as the watcher would send it."""
        content, stat = self.files[path]
        seen = datetime.fromtimestamp(stat.mtime_ns / 1e9, UTC)
        return Snapshot(
            REPO, path, Operation.UPSERT, self.hashes[path], stat, content, agent="evaluate", observed_at=seen
        )


async def read_corpus(root: Path) -> Corpus:
    """Read every file of a folder that would be watched.

    Raises NotFoundError when the folder is not there, UsageError when it holds no such file.
    """
    opened = Root(root)
    try:
        await to_thread.run_sync(opened.open)
    except (RootGoneError, OSError) as error:
        raise NotFoundError(f"there is no folder {root}", suggestion="name a folder of documents") from error
    walk = await scan(opened, Rules(root), now_ns=time.time_ns)
    corpus = await to_thread.run_sync(_read_all, opened, walk.files)
    if not corpus.files:
        raise UsageError(f"{root} holds no file to remember", suggestion="name a folder of documents")
    return corpus


def _read_all(root: Root, stats: Mapping[str, FileStat]) -> Corpus:
    files: dict[str, tuple[bytes, FileStat]] = {}
    left_out: dict[str, str] = {}
    for path, stat in stats.items():
        if stat.size > MAX_FILE_BYTES:
            left_out[path] = "too large"
            continue
        try:
            content = Path(root.full(path)).read_bytes()
        except OSError as error:
            left_out[path] = error.strerror or str(error)
            continue
        if is_binary(content):
            left_out[path] = "binary"
        else:
            files[path] = (content, stat)
    return Corpus(files, left_out)
