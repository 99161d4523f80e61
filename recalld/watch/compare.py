"""The one decision: what a path's state on disk and the index's belief about it call for.

Pure. Watcher events, reconcile scans, git HEAD moves and the ``reindex`` verb all end here, so a lost, doubled or
reordered event can neither lose nor resurrect a memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from recalld.model import DocumentState, FileStat, ManifestEntry

RACY_NS = 2_000_000_000
"""A file changed this recently before it was looked at may change again under the same time stamp (git's racy rule)."""
PRUNE_FLOOR = 5
"""A repo of fewer documents than this may lose them all to a scan."""

_PRESENT = frozenset({DocumentState.INDEXED, DocumentState.SKIPPED, DocumentState.FAILED})


class Presence(StrEnum):
    """What is known of a path on disk.

    ``absent`` is proven: the path gave ENOENT (or is no regular file any more) while the directory above was listed
    without error. ``excluded`` exists but the rules keep it out. ``unknown`` could not be seen: no reason to delete.
    """

    FILE = "file"
    ABSENT = "absent"
    EXCLUDED = "excluded"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Disk:
    """A path as it was seen on disk at ``observed_ns`` (since 1970).

    ``content_hash`` is None until the content was read. ``skip`` says why it will not be (``too_large``) or must not be
    indexed (``binary``).
    """

    presence: Presence
    stat: FileStat | None = None
    observed_ns: int = 0
    content_hash: str | None = None
    skip: str | None = None


class Action(StrEnum):
    """What to do: nothing, read the content and compare again, publish its state, or publish its end."""

    NOTHING = "nothing"
    READ = "read"
    UPSERT = "upsert"
    DELETE = "delete"


def is_document(entry: ManifestEntry | None) -> bool:
    """Tell whether the index holds the path as something that stands on disk."""
    return entry is not None and entry.state in _PRESENT


def is_racy(stat: FileStat, observed_ns: int) -> bool:
    """Tell whether equal times prove nothing yet. A modification time far in the future is left to the change time."""
    return stat.ctime_ns > observed_ns - RACY_NS or abs(stat.mtime_ns - observed_ns) < RACY_NS


def compare(disk: Disk, known: ManifestEntry | None, *, force: bool = False) -> Action:
    """Decide on one path. ``known`` is what the index holds, or will hold once it has worked off what was published.

    ``force`` believes no stat and gives a failed file another try. READ is only returned while ``content_hash`` and
    ``skip`` are None.
    """
    if known is not None and known.state is DocumentState.FORGOTTEN:
        return Action.NOTHING
    match disk.presence:
        case Presence.UNKNOWN:
            return Action.NOTHING
        case Presence.ABSENT | Presence.EXCLUDED:
            return Action.DELETE if is_document(known) else Action.NOTHING
        case Presence.FILE:
            return _compare_file(disk, known, force)


def _compare_file(disk: Disk, known: ManifestEntry | None, force: bool) -> Action:
    unread = disk.content_hash is None
    if known is None or not is_document(known):
        return Action.UPSERT if disk.skip or not unread else Action.READ
    if disk.skip and unread:
        return Action.NOTHING if _skipped_unread(known) else Action.UPSERT
    if unread:
        return Action.NOTHING if not force and _settled(disk, known) else Action.READ
    if force and known.state is DocumentState.FAILED:
        return Action.UPSERT
    return Action.NOTHING if known.content_hash == disk.content_hash else Action.UPSERT


def _settled(disk: Disk, known: ManifestEntry) -> bool:
    stat = disk.stat
    return (
        stat is not None and stat == known.stat and not _skipped_unread(known) and not is_racy(stat, disk.observed_ns)
    )


def _skipped_unread(known: ManifestEntry) -> bool:
    return known.state is DocumentState.SKIPPED and not known.content_hash


def prunes_too_much(dropped: int, documents: int, share: float) -> bool:
    """Tell whether dropping so many of a repo's documents should be asked about first."""
    return documents >= PRUNE_FLOOR and dropped >= share * documents
