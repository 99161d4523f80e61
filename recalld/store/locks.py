"""The keys of advisory locks, and the order in which they are taken: structure, then documents by key.

Whoever changes a document's chunks holds its lock, so no two writers ever meet at a row and none waits for another's.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

MIGRATION = 0x7265_6361_6C6C_6400
"""Held while the schema is changed."""
STRUCTURE = 0x7265_6361_6C6C_6401
"""Which repos and generations there are: shared by every writer, held alone by who changes it."""

CALIBRATION = 0x7265_6361_6C6C_6402
"""Held by the node that calibrates, for its session, beside no other lock."""


def document(repo_id: int, path: str) -> int:
    """Return the key of one document."""
    return _key(f"document {repo_id} {path}")


def documents(places: Iterable[tuple[int, str]]) -> list[int]:
    """Return the keys of documents in the order in which they must be taken."""
    return sorted({document(repo_id, path) for repo_id, path in places})


def findings(repo: str, path: str, source: str) -> int:
    """Return the key of what one source says of a path."""
    return _key(f"findings {repo} {source} {path}")


def job(name: str, slot: str) -> int:
    """Return the key of one slot of a job: held by the node that runs it, for its session, beside no other lock."""
    return _key(f"job {name} {slot}")


def episode(key: str, normal: str) -> int:
    """Return the key of a question under its circumstances: held by who remembers its answer, beside no other lock."""
    return _key(f"episode {key} {normal}")


def lessons(repo_id: int) -> int:
    """Return the key of a repo's lessons: held by who writes one, beside no other lock."""
    return _key(f"lessons {repo_id}")


def _key(text: str) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
