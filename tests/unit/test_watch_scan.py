"""Walking and looking: what is found, what is a problem, and where absence proves nothing."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from recalld.watch import disk, scan
from recalld.watch.compare import Presence
from recalld.watch.disk import Root, RootGoneError, Sight, look
from recalld.watch.ignore import Rules
from recalld.watch.scan import Walk


def write(root: Path, *paths: str, text: str = "text\n") -> None:
    for path in paths:
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


def opened(path: Path) -> Root:
    root = Root(path)
    root.open()
    return root


async def walk(path: Path, under: str = "", root: Root | None = None) -> Walk:
    return await scan.scan(root or opened(path), Rules(path), under, now_ns=time.time_ns)


def see(path: Path, name: str, *, listed: bool = False, root: Root | None = None) -> Sight:
    return look(root or opened(path), Rules(path), name, max_bytes=1000, now_ns=time.time_ns, listed=listed)


def codes(walk: Walk) -> dict[str, str]:
    return {problem.path: problem.code for problem in walk.problems}


async def test_files_with_stat_and_ignored_trees_pruned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.md", "d/e/b.md", "node_modules/x/y.md", ".git/config", ".env", "d/c.png")
    entered: list[str] = []
    scandir = os.scandir

    def spy(path: str) -> Iterator[os.DirEntry[str]]:
        entered.append(os.path.relpath(path, tmp_path))
        return scandir(path)

    root = opened(tmp_path)
    monkeypatch.setattr(scan.os, "scandir", spy)
    found = await walk(tmp_path, root=root)
    assert set(found.files) == {"a.md", "d/e/b.md"}
    assert found.files["a.md"] == disk.file_stat(os.stat(tmp_path / "a.md"))
    assert not found.problems
    assert set(entered) == {".", "d", "d/e"}


async def test_a_subtree(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "d/e/b.md", "d/c.md", "dd/x.md")
    assert set((await walk(tmp_path, "d")).files) == {"d/e/b.md", "d/c.md"}


async def test_the_loop_stays_live_and_a_cancelled_walk_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, *(f"d{i}/f{j}.md" for i in range(30) for j in range(3)))
    monkeypatch.setattr(scan, "SLICE", 4)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async with anyio.create_task_group() as group:
        group.start_soon(count)
        assert len((await walk(tmp_path)).files) == 90
        group.cancel_scope.cancel()
    assert turns >= 20

    taken = 0
    take = scan._take

    def cancel_in_the_middle(steps: Iterator[int]) -> bool:
        nonlocal taken
        taken += 1
        if taken == 3:
            anyio.from_thread.run_sync(scope.cancel)
        return take(steps)

    monkeypatch.setattr(scan, "_take", cancel_in_the_middle)
    with anyio.CancelScope() as scope:
        await walk(tmp_path)
    assert scope.cancelled_caught
    assert taken == 3


async def test_problems_are_named_and_nothing_is_concluded(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "real/b.md", "outside/x.md")
    root = tmp_path / "root"
    write(root, "a.md", "real/b.md")
    (root / os.fsdecode(b"caf\xe9.md")).write_text("x")
    os.mkdir(os.fsencode(root) + b"/d\xff")
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "sock"))
    (root / "escape").symlink_to(tmp_path / "outside")
    (root / "escape.md").symlink_to(tmp_path / "outside/x.md")
    (root / "real/up").symlink_to(root)
    (root / "self").symlink_to("self")
    (root / "dangling.md").symlink_to("nowhere.md")
    (root / "alias.md").symlink_to("a.md")
    (root / "alias").symlink_to("real")
    found = await walk(root)
    assert set(found.files) == {"a.md", "real/b.md"}
    assert codes(found) == {
        "caf\\xe9.md": "name-not-utf8",
        "d\\xff": "name-not-utf8",
        "pipe": "special-file",
        "sock": "special-file",
        "escape": "symlink-escape",
        "escape.md": "symlink-escape",
        "real/up": "symlink-loop",
        "self": "symlink-loop",
        "dangling.md": "symlink-broken",
    }


async def test_links_are_followed_to_what_is_not_indexed_under_its_own_name(tmp_path: Path) -> None:
    write(tmp_path, "build/notes/a.md", "build/b.md", ".env", "build/notes/.env.local")
    (tmp_path / "notes").symlink_to("build/notes")
    (tmp_path / "again").symlink_to("build/notes")
    (tmp_path / "b.md").symlink_to("build/b.md")
    (tmp_path / "c.md").symlink_to("build/b.md")
    (tmp_path / "harmless.md").symlink_to(".env")
    (tmp_path / "build/notes/loop").symlink_to("../notes")
    root = opened(tmp_path)
    found = await walk(tmp_path, root=root)
    assert set(found.files) == {"again/a.md", "b.md"}
    assert codes(found) == {"again/loop": "symlink-loop"}
    assert see(tmp_path, "b.md", root=root).disk.presence is Presence.FILE
    assert see(tmp_path, "c.md", root=root).disk.presence is Presence.EXCLUDED
    assert see(tmp_path, "harmless.md", root=root).disk.presence is Presence.EXCLUDED


async def test_a_path_through_a_linked_directory_is_another_files_name(tmp_path: Path) -> None:
    write(tmp_path, "docs/x.md")
    (tmp_path / "lnk").symlink_to("docs")
    (tmp_path / "up").symlink_to(tmp_path.parent)
    sight = see(tmp_path, "lnk/x.md")
    assert (sight.disk.presence, sight.instead) == (Presence.EXCLUDED, "docs/x.md")
    assert see(tmp_path, f"up/{tmp_path.name}/docs/x.md").instead == "docs/x.md"
    assert see(tmp_path, "up/elsewhere.md").disk.presence is not Presence.FILE


async def test_hard_links_are_files_of_their_own(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    os.link(tmp_path / "a.md", tmp_path / "b.md")
    assert set((await walk(tmp_path)).files) == {"a.md", "b.md"}


async def test_names_differing_in_case_or_unicode_form_only_are_two_files(tmp_path: Path) -> None:
    names = {"a.md", "A.md", "caf\u00e9.md", "cafe\u0301.md"}
    write(tmp_path, *names)
    if len(os.listdir(tmp_path)) < len(names):
        pytest.skip("this file system takes them for one")
    assert set((await walk(tmp_path)).files) == names


def failing(error: OSError, *names: str) -> Callable[[str], Iterator[os.DirEntry[str]]]:
    scandir = os.scandir

    def fail(path: str) -> Iterator[os.DirEntry[str]]:
        if os.path.basename(path) in names:
            raise error
        return scandir(path)

    return fail


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), OSError(5, "Input/output error")])
async def test_below_an_unreadable_directory_absence_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    write(tmp_path, "a.md", "shut/b.md", "shut/deep/c.md")
    root = opened(tmp_path)
    monkeypatch.setattr(scan.os, "scandir", failing(error, "shut"))
    found = await walk(tmp_path, root=root)
    assert set(found.files) == {"a.md"}
    assert codes(found) == {"shut": "unreadable"}
    assert found.disk("shut/deep/c.md", 1000).presence is Presence.UNKNOWN
    assert found.disk("shut", 1000).presence is Presence.UNKNOWN
    assert found.disk("shut2/x.md", 1000).presence is Presence.ABSENT
    assert see(tmp_path, "shut/gone.md", root=root).disk.presence is Presence.UNKNOWN


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become someone else")
def test_an_unreadable_directory_as_another_user_sees_it() -> None:
    with tempfile.TemporaryDirectory() as path:
        _see_as_another_user(Path(path))


def _see_as_another_user(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "shut/b.md", "shut/deep/c.md", "secret.md")
    (tmp_path / "shut").chmod(0o700)
    script = """
import os, sys, time, anyio
from pathlib import Path
from recalld.watch.disk import Root, look
from recalld.watch.ignore import Rules
from recalld.watch.scan import scan
root, rules = Root(Path.cwd()), Rules(Path.cwd())
async def main():
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
    root.open()
    return await scan(root, rules, now_ns=time.time_ns)
found = anyio.run(main)
sight = look(root, rules, "shut/b.md", max_bytes=1000, now_ns=time.time_ns, listed=False)
print(sorted(found.files), [p.code for p in found.problems], found.disk("shut/b.md", 9).presence, sight.disk.presence)
"""
    tmp_path.chmod(0o755)
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "['a.md', 'secret.md'] ['unreadable'] unknown unknown", done.stderr


async def test_a_root_that_is_missing_or_another_is_no_empty_repo(tmp_path: Path) -> None:
    path = tmp_path / "root"
    write(path, "a.md")
    root = opened(path)
    path.rename(tmp_path / "away")
    with pytest.raises(RootGoneError):
        await walk(path, root=root)
    with pytest.raises(RootGoneError):
        see(path, "a.md", root=root)
    path.mkdir()
    with pytest.raises(RootGoneError):
        await walk(path, root=root)
    with pytest.raises(RootGoneError):
        see(path, "a.md", root=root)
    path.rmdir()
    (tmp_path / "away").rename(path)
    assert set((await walk(path, root=root)).files) == {"a.md"}


async def test_a_mount_that_went_away_is_no_empty_directory(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "disk/b.md")
    root = opened(tmp_path)
    root.mounts.add("disk")
    found = await walk(tmp_path, root=root)
    assert found.disk("disk/c.md", 1000).presence is Presence.UNKNOWN
    assert codes(found) == {"disk": "unreadable"}


def test_absence_is_confirmed_by_the_directory_above(tmp_path: Path) -> None:
    write(tmp_path, "d/a.md")
    assert see(tmp_path, "d/gone.md").disk.presence is Presence.ABSENT
    assert see(tmp_path, "no/such/dir/gone.md").disk.presence is Presence.ABSENT
    assert see(tmp_path, "d/a.md/not-a-directory.md").disk.presence is Presence.ABSENT
    assert see(tmp_path, "d").is_dir


def test_a_name_that_only_its_twin_answers_to_is_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "A.md")
    lstat = os.lstat
    monkeypatch.setattr(disk.os, "lstat", lambda path: lstat(str(path).replace("a.md", "A.md")))
    assert see(tmp_path, "a.md", listed=True).disk.presence is Presence.ABSENT


def test_a_file_that_came_back_after_the_scan_is_there(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    assert see(tmp_path, "a.md", listed=True).disk.presence is Presence.FILE


def test_what_is_no_file_any_more(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.md")
    (tmp_path / "big.md").write_text("x" * 1001)
    pipe, big = see(tmp_path, "a.md"), see(tmp_path, "big.md")
    assert pipe.disk.presence is Presence.ABSENT
    assert pipe.problem is not None
    assert pipe.problem.code == "special-file"
    assert (big.disk.skip, big.problem and big.problem.code) == ("too-large", "too-large")
    assert see(tmp_path, os.fsdecode(b"\xff.md")).disk.presence is Presence.UNKNOWN
    assert see(tmp_path, "x" * 300 + ".md").disk.presence is Presence.UNKNOWN
