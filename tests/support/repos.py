"""Memory repos for tests: many small files, quickly, and the same ones each time."""

from __future__ import annotations

import hashlib
import random
import subprocess
from collections.abc import Sequence
from pathlib import Path

WORDS = (
    *("queue", "ledger", "cache", "retry", "token", "schema", "replica", "deploy", "region", "budget", "latency"),
    *("freeze", "rollout", "incident", "owner", "postgres", "vector", "socket", "kernel", "packet", "quorum"),
    *("leader", "follower", "lease", "shard", "index", "backup", "restore", "snapshot", "alert"),
)


def memo(number: int, *, version: int = 0, words: int = 60) -> str:
    """Return the text of memo ``number``; another version says something else under the same title."""
    rng = random.Random(number * 1_000 + version)
    body = " ".join(rng.choice(WORDS) for _ in range(words))
    return f"# Memo {number}\n\nmarker-{number}-v{version} says: {body}.\n"


def write_memos(root: Path, numbers: Sequence[int], *, version: int = 0, words: int = 60) -> dict[str, str]:
    """Write one file a number, fifty a directory; return path to sha256."""
    written = {}
    for number in numbers:
        path = root / f"d{number // 50:03d}" / f"m{number:05d}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = memo(number, version=version, words=words)
        path.write_text(text, "utf-8")
        written[path.relative_to(root).as_posix()] = hashlib.sha256(text.encode()).hexdigest()
    return written


def on_disk(root: Path) -> dict[str, str]:
    """Return path to sha256 of every file that is not git's own."""
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(root).parts
    }


def git(root: Path, *arguments: str) -> None:
    """Run git with an identity of its own and no one's configuration."""
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false", *arguments],
        cwd=root,
        check=True,
        capture_output=True,
        env={
            "PATH": "/usr/bin:/bin:/usr/local/bin",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_SYSTEM": "/dev/null",
        },
    )
