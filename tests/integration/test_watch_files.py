"""What people and editors do to files, on real directories with the kernel's events: the index follows."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recalld.bus.wire import ReindexRequest
from recalld.errors import UsageError
from recalld.model import DocumentState, Operation
from recalld.watch.watcher import Watcher
from tests.support.watching import MemoryIndex, hashes, repo_at, watching


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A memory of three files."""
    root = tmp_path / "memory"
    write(root, "a.md", "docs/b.md", "docs/deep/c.md")
    return root


@pytest.fixture
def index() -> MemoryIndex:
    return MemoryIndex()


@pytest.fixture
async def watcher(index: MemoryIndex, root: Path) -> AsyncIterator[Watcher]:
    async with watching(index, repo_at(root)) as watcher:
        await index.until_equal(root)
        yield watcher


@contextmanager
def opened(directory: Path) -> Iterator[int]:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def write(root: Path, *paths: str, text: str = "") -> None:
    for path in paths:
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text or f"text of {path}\n")


async def test_the_first_scan_finds_what_is_there(watcher: Watcher, index: MemoryIndex, root: Path) -> None:
    assert set(index.documents()) == {"a.md", "docs/b.md", "docs/deep/c.md"}
    assert index.contents["memory", "a.md"] == b"text of a.md\n"
    assert index.states == ["scanning", "watching"]
    assert not watcher.trouble()
    assert watcher.summary() == "watching 1 repo"
    assert watcher.is_alive()


async def test_created_changed_and_deleted(watcher: Watcher, index: MemoryIndex, root: Path) -> None:
    write(root, "new.md", "docs/new.md")
    write(root, "a.md", text="changed\n")
    (root / "docs/b.md").unlink()
    await index.until_equal(root)
    assert index.count("docs/b.md", Operation.DELETE) == 1
    assert index.scans["memory"] == 1


async def test_an_atomic_save_is_a_change_of_one_file(watcher: Watcher, index: MemoryIndex, root: Path) -> None:
    for number in range(3):
        write(root, "a.md.tmp", text=f"version {number}\n")
        os.replace(root / "a.md.tmp", root / "a.md")
        await index.until_equal(root, ignored=["a.md.tmp"])
    assert index.count("a.md", Operation.DELETE) == 0
    assert all(snapshot.path != "a.md.tmp" for snapshot in index.published)


async def test_a_save_by_backup_and_rename(watcher: Watcher, index: MemoryIndex, root: Path) -> None:
    """As vim does with backupcopy=no: the file is away for a moment."""
    os.rename(root / "a.md", root / "a.md~")
    write(root, "a.md", text="saved\n")
    (root / "a.md~").unlink()
    await index.until_equal(root)


async def test_ten_quick_saves_are_read_a_few_times(watcher: Watcher, index: MemoryIndex, root: Path) -> None:
    for number in range(10):
        write(root, "a.md", text=f"version {number}\n")
    await index.until_equal(root)
    assert index.count("a.md") <= 4


async def test_back_and_forth_ends_where_the_file_is(watcher: Watcher, index: MemoryIndex, root: Path) -> None:
    for text in ("one\n", "two\n", "one\n"):
        write(root, "a.md", text=text)
        await index.until_equal(root)
    assert index.count("a.md") == 4


async def test_a_rename_adds_before_it_drops(watcher: Watcher, index: MemoryIndex, root: Path) -> None:
    (root / "a.md").rename(root / "z.md")
    await index.until_equal(root)
    operations = [(snapshot.path, snapshot.operation) for snapshot in index.published[-2:]]
    assert operations == [("z.md", Operation.UPSERT), ("a.md", Operation.DELETE)]


async def test_a_directory_is_renamed(watcher: Watcher, index: MemoryIndex, root: Path) -> None:
    (root / "docs").rename(root / "papers")
    await index.until_equal(root)
    write(root, "papers/deep/c.md", text="written under the new name\n")
    write(root, "papers/d.md")
    await index.until_equal(root)


async def test_two_directories_swap_names(watcher: Watcher, index: MemoryIndex, root: Path) -> None:
    write(root, "one/same.md", text="first\n")
    write(root, "two/same.md", text="second\n")
    await index.until_equal(root)
    (root / "one").rename(root / "three")
    (root / "two").rename(root / "one")
    (root / "three").rename(root / "two")
    await index.until_equal(root)
    write(root, "one/more.md", "two/more.md", text="after\n")
    await index.until_equal(root)


async def test_a_directory_moves_in_and_out(watcher: Watcher, index: MemoryIndex, root: Path, tmp_path: Path) -> None:
    """Only the directory itself is told of; what is in it must be found."""
    write(tmp_path / "outside", "x.md", "sub/y.md")
    (tmp_path / "outside").rename(root / "inside")
    await index.until_equal(root)
    write(root, "inside/sub/z.md")
    await index.until_equal(root)
    (root / "inside").rename(tmp_path / "outside")
    await index.until_equal(root)
    assert set(index.documents()) == {"a.md", "docs/b.md", "docs/deep/c.md"}


async def test_nested_directories_made_at_once(watcher: Watcher, index: MemoryIndex, root: Path) -> None:
    write(root, "v/w/x/y/z.md")
    await index.until_equal(root)
    write(root, "v/w/x/y/more.md", "v/w/other.md", "v/w/x/new/again.md")
    await index.until_equal(root)


async def test_a_directory_made_anew_under_its_name_is_watched(
    watcher: Watcher, index: MemoryIndex, root: Path
) -> None:
    for number in range(3):
        for name in ("docs/deep/c.md", "docs/deep/d.md"):
            (root / name).unlink(missing_ok=True)
        (root / "docs/deep").rmdir()
        write(root, "docs/deep/c.md", text=f"again {number}\n")
        await index.until_equal(root)
        write(root, "docs/deep/d.md", text=f"later {number}\n")
        await index.until_equal(root)


async def test_a_file_takes_a_directorys_place_and_the_other_way_round(
    watcher: Watcher, index: MemoryIndex, root: Path, tmp_path: Path
) -> None:
    (root / "docs").rename(tmp_path / "away")
    write(root, "docs", text="now a file\n")
    await index.until_equal(root)
    (root / "docs").unlink()
    write(root, "docs/b.md")
    await index.until_equal(root)


async def test_ignored_files_never_leave(watcher: Watcher, index: MemoryIndex, root: Path) -> None:
    write(root, ".env", ".env.local", "id_rsa", "tls/server.key", "node_modules/x/readme.md", "b.png", "c.md.swp")
    write(root, "last.md")
    await index.until(lambda: "last.md" in index.documents())
    await watcher.scan("memory", ReindexRequest(force=True))
    assert {snapshot.path for snapshot in index.published} == {"a.md", "docs/b.md", "docs/deep/c.md", "last.md"}


async def test_changed_rules_move_files_out_and_in(watcher: Watcher, index: MemoryIndex, root: Path) -> None:
    write(root, ".recallignore", text="docs/deep/\n")
    await index.until(lambda: set(index.documents()) == {"a.md", "docs/b.md"})
    write(root, "docs/.gitignore", text="b.*\n")
    await index.until(lambda: set(index.documents()) == {"a.md"})
    (root / ".recallignore").unlink()
    (root / "docs/.gitignore").unlink()
    await index.until_equal(root)


async def test_too_large_and_binary_files_are_skipped_visibly(index: MemoryIndex, root: Path) -> None:
    async with watching(index, repo_at(root), max_file_bytes=1_000):
        write(root, "large.md", text="x" * 1_001)
        (root / "program.md").write_bytes(bytes(range(256)) * 3)
        await index.until(lambda: {"large.md", "program.md"} <= index.rows["memory"].keys())
        assert index.rows["memory"]["large.md"].state is DocumentState.SKIPPED
        assert index.rows["memory"]["program.md"].state is DocumentState.SKIPPED
        assert index.contents["memory", "large.md"] is None
        await index.until(lambda: index.codes().get("large.md") == {"too-large"})
        write(root, "large.md", text="small now\n")
        await index.until(lambda: "large.md" in index.documents() and "large.md" not in index.codes())


async def test_links_inside_outside_in_a_loop_and_to_nothing(
    watcher: Watcher, index: MemoryIndex, root: Path, tmp_path: Path
) -> None:
    write(tmp_path / "outside", "secret.md", ".ssh/id_rsa")
    write(root, ".venv/notes/kept.md")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "out.md").symlink_to(tmp_path / "outside/secret.md")
    (root / "docs/up").symlink_to(root)
    (root / "none.md").symlink_to("nowhere")
    (root / "again.md").symlink_to("a.md")
    (root / "kept").symlink_to(".venv/notes")
    await index.until(lambda: len(index.codes()) == 4 and "kept/kept.md" in index.documents())
    assert index.codes() == {
        "out": {"symlink-escape"},
        "out.md": {"symlink-escape"},
        "docs/up": {"symlink-loop"},
        "none.md": {"symlink-broken"},
    }
    assert set(index.documents()) == {"a.md", "docs/b.md", "docs/deep/c.md", "kept/kept.md"}
    write(root, ".venv/notes/kept.md", text="written under its other name\n")
    await index.until(lambda: index.count("kept/kept.md") == 2)
    for link in ("out", "out.md", "docs/up", "none.md"):
        (root / link).unlink()
    await index.until(lambda: not index.codes())


async def test_a_link_out_of_the_repo_is_not_watched(index: MemoryIndex, root: Path, tmp_path: Path) -> None:
    write(tmp_path / "outside", "x.md")
    (root / "out").symlink_to(tmp_path / "outside")
    async with watching(index, repo_at(root)):
        asked = index.asked["entries memory"]
        write(tmp_path / "outside", "x.md", "y.md", text="nobody's business\n")
        write(root, "last.md")
        await index.until(lambda: "last.md" in index.documents())
        assert index.asked["entries memory"] == asked + 1


async def test_names_that_are_not_utf8_are_named_and_the_rest_goes_on(index: MemoryIndex, root: Path) -> None:
    """The backend gives up at such a name: another takes its place, and in the end polling."""
    bad = os.path.join(os.fsencode(root), b"caf\xe9.md")
    async with watching(index, repo_at(root), poll_interval_s=0.1):
        for number in range(4):
            Path(os.fsdecode(bad)).write_text(f"version {number}\n")
            write(root, "docs/good.md", text=f"version {number}\n")
            await index.until(lambda: index.documents() == hashes(root, [os.fsdecode(b"caf\xe9.md")]))
            await index.until(lambda: index.codes() == {"caf\\xe9.md": {"name-not-utf8"}})
        os.rename(bad, root / "café.md")
        await index.until_equal(root)
        await index.until(lambda: not index.codes())


async def test_strange_but_proper_names(watcher: Watcher, index: MemoryIndex, root: Path) -> None:
    write(root, "a b.md", "with\nnewline.md", "héllo/ünïcode 文.md", "-rf.md", "*.md", "[x].md", "tab\t.md", "q'\".md")
    await index.until_equal(root)


async def test_pipes_and_sockets_are_not_read(watcher: Watcher, index: MemoryIndex, root: Path) -> None:
    os.mkfifo(root / "pipe.md")
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(root)  # the path of a socket is short
        server.bind("s.md")
        await index.until(lambda: index.codes() == {"pipe.md": {"special-file"}, "s.md": {"special-file"}})
        write(root, "last.md")
        await index.until(lambda: "last.md" in index.documents())


async def test_equal_size_and_time_but_other_content(watcher: Watcher, index: MemoryIndex, root: Path) -> None:
    """The modification time is put back: only the change time gives it away."""
    found = os.stat(root / "a.md")
    write(root, "a.md", text="tEXT of a.md\n")
    os.utime(root / "a.md", ns=(found.st_atime_ns, found.st_mtime_ns))
    await index.until_equal(root)


async def test_one_file_that_is_never_taken_does_not_hold_up_the_others(
    watcher: Watcher, index: MemoryIndex, root: Path
) -> None:
    index.bad = {"bad.md": UsageError("not with this name", suggestion="another one")}
    write(root, "bad.md", "good.md")
    await index.until(lambda: "good.md" in index.documents() and index.codes().get("bad.md") == {"not-published"})
    index.bad = {}
    write(root, "bad.md", text="once more\n")
    await index.until_equal(root)
    await index.until(lambda: not index.codes())


async def test_a_forgotten_file_stays_forgotten(watcher: Watcher, index: MemoryIndex, root: Path) -> None:
    row = index.rows["memory"]["a.md"]
    index.rows["memory"]["a.md"] = type(row)("a.md", DocumentState.FORGOTTEN, "", None, row.position)
    write(root, "a.md", text="saved again\n")
    write(root, "last.md")
    await index.until(lambda: "last.md" in index.documents())
    await watcher.scan("memory", ReindexRequest(force=True))
    assert index.count("a.md") == 1
