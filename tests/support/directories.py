"""Where tests keep the servers' data."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MEMORY = Path("/dev/shm")
_ENOUGH = 2 << 30


def _fastest() -> Path | None:
    """Memory, where there is plenty of it: dozens of servers that sync to one disk wait for each other."""
    return _MEMORY if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free >= _ENOUGH else None


@contextmanager
def short_directory() -> Iterator[Path]:
    """A directory whose path is short enough for a socket in it, unlike pytest's tmp_path; removed at the end."""
    with tempfile.TemporaryDirectory(prefix="recalld-", dir=_fastest()) as name:
        yield Path(name)
