"""The decision table: every state of disk against every belief of the index."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.model import DocumentState, FileStat, ManifestEntry, Position
from recalld.watch.compare import Action, Disk, Presence, compare, is_document, is_racy, prunes_too_much

NOW = 1_800_000_000_000_000_000
OLD = NOW - 60_000_000_000
STAT = FileStat(10, OLD, OLD, 7)
OTHER = FileStat(10, OLD + 1, OLD + 1, 7)
FRESH = FileStat(10, NOW - 1_000_000_000, NOW - 1_000_000_000, 7)


def entry(state: str, content_hash: str = "h", stat: FileStat | None = STAT) -> ManifestEntry:
    return ManifestEntry("a.md", DocumentState(state), content_hash, stat, Position(1, 1))


def file(stat: FileStat = STAT, content_hash: str | None = None, skip: str | None = None) -> Disk:
    return Disk(Presence.FILE, stat, NOW, content_hash, skip)


ABSENT, EXCLUDED, UNKNOWN = Disk(Presence.ABSENT), Disk(Presence.EXCLUDED), Disk(Presence.UNKNOWN)


@pytest.mark.parametrize(
    ("disk", "known", "action"),
    [
        pytest.param(file(), None, "read", id="new file"),
        pytest.param(file(content_hash="h"), None, "upsert", id="new file, read"),
        pytest.param(file(skip="too-large"), None, "upsert", id="new file, too large"),
        pytest.param(file(), entry("indexed"), "nothing", id="same stat"),
        pytest.param(file(OTHER), entry("indexed"), "read", id="other stat"),
        pytest.param(file(OTHER, "h"), entry("indexed"), "nothing", id="touched, same content"),
        pytest.param(file(OTHER, "g"), entry("indexed"), "upsert", id="other content"),
        pytest.param(file(FRESH), entry("indexed", stat=FRESH), "read", id="same stat, but racily so"),
        pytest.param(file(FRESH, "g"), entry("indexed", stat=FRESH), "upsert", id="racy and changed"),
        pytest.param(file(FRESH, "h"), entry("indexed", stat=FRESH), "nothing", id="racy and the same"),
        pytest.param(file(), entry("indexed", stat=None), "read", id="index knows no stat"),
        pytest.param(file(), entry("failed"), "nothing", id="failed and unchanged is not tried again"),
        pytest.param(file(OTHER, "g"), entry("failed"), "upsert", id="failed and changed"),
        pytest.param(file(), entry("deleted"), "read", id="a deleted file is back"),
        pytest.param(file(content_hash="h"), entry("deleted"), "upsert", id="back with the same content"),
        pytest.param(file(), entry("forgotten"), "nothing", id="forgotten"),
        pytest.param(file(OTHER, "g"), entry("forgotten"), "nothing", id="forgotten and saved again"),
        pytest.param(ABSENT, entry("forgotten"), "nothing", id="forgotten and deleted"),
        pytest.param(file(skip="too-large"), entry("indexed"), "upsert", id="grew too large"),
        pytest.param(file(OTHER, skip="too-large"), entry("skipped", ""), "nothing", id="grows on"),
        pytest.param(file(), entry("skipped", ""), "read", id="the size cap was raised"),
        pytest.param(file(OTHER), entry("skipped"), "read", id="binary, perhaps changed"),
        pytest.param(file(OTHER, "g", "binary"), entry("indexed"), "upsert", id="became binary"),
        pytest.param(file(OTHER, "h", "binary"), entry("skipped"), "nothing", id="binary, same content"),
        pytest.param(ABSENT, None, "nothing", id="neither here nor there"),
        pytest.param(ABSENT, entry("indexed"), "delete", id="gone"),
        pytest.param(ABSENT, entry("skipped", ""), "delete", id="skipped one gone"),
        pytest.param(ABSENT, entry("failed"), "delete", id="failed one gone"),
        pytest.param(ABSENT, entry("deleted"), "nothing", id="deleted before"),
        pytest.param(EXCLUDED, entry("indexed"), "delete", id="excluded by a new rule"),
        pytest.param(EXCLUDED, None, "nothing", id="excluded"),
        pytest.param(UNKNOWN, entry("indexed"), "nothing", id="unreadable is not absent"),
    ],
)
def test_table(disk: Disk, known: ManifestEntry | None, action: str) -> None:
    assert compare(disk, known) == Action(action)


def test_force_believes_no_stat() -> None:
    assert compare(file(), entry("indexed"), force=True) is Action.READ
    assert compare(file(content_hash="h"), entry("indexed"), force=True) is Action.NOTHING
    assert compare(file(content_hash="h"), entry("failed"), force=True) is Action.UPSERT
    assert compare(file(content_hash="h"), entry("forgotten"), force=True) is Action.NOTHING
    assert compare(UNKNOWN, entry("indexed"), force=True) is Action.NOTHING


DISKS = st.builds(
    Disk,
    st.sampled_from(Presence),
    st.sampled_from([STAT, OTHER, FRESH]),
    st.just(NOW),
    st.sampled_from([None, "h", "g"]),
    st.sampled_from([None, "too-large", "binary"]),
)
ENTRIES = st.none() | st.builds(
    entry, st.sampled_from(DocumentState), st.sampled_from(["h", "g", ""]), st.sampled_from([STAT, OTHER, None])
)


@given(DISKS, ENTRIES, st.booleans())
def test_laws(disk: Disk, known: ManifestEntry | None, force: bool) -> None:
    action = compare(disk, known, force=force)
    if action is Action.DELETE:
        assert disk.presence in (Presence.ABSENT, Presence.EXCLUDED)
        assert is_document(known)
    if action in (Action.READ, Action.UPSERT):
        assert disk.presence is Presence.FILE
        assert known is None or known.state is not DocumentState.FORGOTTEN
    if action is Action.READ:
        assert disk.content_hash is None
        assert disk.skip is None


@given(DISKS, ENTRIES)
def test_what_was_published_is_not_published_again(disk: Disk, known: ManifestEntry | None) -> None:
    action = compare(disk, known)
    if action is Action.UPSERT:
        state = DocumentState.SKIPPED if disk.skip else DocumentState.INDEXED
        known = ManifestEntry("a.md", state, disk.content_hash or "", disk.stat, Position(1, 2))
    elif action is Action.DELETE:
        known = entry("deleted")
    if action is not Action.READ:
        assert compare(disk, known) is Action.NOTHING


def test_racy_times() -> None:
    second = 1_000_000_000
    assert is_racy(FileStat(1, NOW, NOW, 1), NOW)
    assert is_racy(FileStat(1, OLD, NOW - second, 1), NOW), "mtime set back by hand"
    assert not is_racy(FileStat(1, OLD, NOW - 3 * second, 1), NOW)
    assert not is_racy(FileStat(1, NOW + 3600 * second, OLD, 1), NOW), "mtime far in the future"


def test_prune_guard() -> None:
    refused = {(d, n) for d, n in itertools.product(range(8), repeat=2) if d <= n and prunes_too_much(d, n, 0.5)}
    assert refused == {(3, 5), (4, 5), (5, 5), *((d, 6) for d in range(3, 7)), *((d, 7) for d in range(4, 8))}
