"""Files of ours: new ones only, whole, and inside the repo; and a claim written into a person's file when told to."""

from __future__ import annotations

from pathlib import Path

import pytest

from recalld.errors import DependencyError, RecalldError, RefusedError, UsageError
from recalld.ingest.claim import with_claim
from recalld.watch.creating import create, replace


def test_a_new_file_with_its_folders(tmp_path: Path) -> None:
    create(tmp_path, "supersessions/a.md", "Text.\n")
    assert (tmp_path / "supersessions/a.md").read_text() == "Text.\n"
    assert [path.name for path in (tmp_path / "supersessions").iterdir()] == ["a.md"]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Mine.\n")
    with pytest.raises(RefusedError, match=r"a\.md exists already"):
        create(tmp_path, "a.md", "Ours.\n")
    assert (tmp_path / "a.md").read_text() == "Mine.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["a.md"]


@pytest.mark.parametrize("path", ["../a.md", "/etc/a.md", "", ".", "a/../../b.md", "a\0b"])
def test_nothing_outside(tmp_path: Path, path: str) -> None:
    root = tmp_path / "repo"
    root.mkdir()
    with pytest.raises(UsageError):
        create(root, path, "x")
    assert list(tmp_path.rglob("*")) == [root]


def test_no_way_out_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "repo" / "link").symlink_to(tmp_path / "out")
    with pytest.raises(UsageError, match="symbolic link"):
        create(tmp_path / "repo", "link/a.md", "x")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_disk_that_refuses_is_named(tmp_path: Path) -> None:
    with pytest.raises(DependencyError, match="File name too long"):
        create(tmp_path, f"{'x' * 300}.md", "x")
    (tmp_path / "file").write_text("x")
    with pytest.raises(RefusedError):
        create(tmp_path, "file/a.md", "x")


def test_a_root_that_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    with pytest.raises(RecalldError, match="gone"):
        create(tmp_path / "gone", "a.md", "x")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_replaced_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"old")
    path.chmod(0o640)
    replace(path, b"old", b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_was_saved_meanwhile_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"newer")
    with pytest.raises(RefusedError, match="saved meanwhile"):
        replace(path, b"old", b"ours")
    assert path.read_bytes() == b"newer"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("before", "old", "after"),
    [
        ("# A\n", "old.md", "---\nsupersedes: old.md\n---\n# A\n"),
        ("---\ntitle: A\n---\nx\n", "old.md", "---\ntitle: A\nsupersedes: old.md\n---\nx\n"),
        ("---\r\na: A\r\n---\r\nx\r\n", "old.md", "---\r\na: A\r\nsupersedes: old.md\r\n---\r\nx\r\n"),
        ("\ufeff---\na: A\n---\nx\n", "old.md", "\ufeff---\na: A\nsupersedes: old.md\n---\nx\n"),
        ("x\n", "a: b #c.md", "---\nsupersedes: 'a: b #c.md'\n---\nx\n"),
        ("x\n", "näher.md", "---\nsupersedes: näher.md\n---\nx\n"),
    ],
)
def test_a_claim_in_the_frontmatter(before: str, old: str, after: str) -> None:
    assert with_claim("new.md", before.encode(), old) == after.encode()


@pytest.mark.parametrize(
    ("path", "content", "why"),
    [
        ("a.md", b"---\nReplaces: other\n---\nx\n", "already what it replaces"),
        ("a.json", b"{}\n", "no markdown"),
        ("a.rst", b"A\n=\n", "no markdown"),
        ("a.py", b"x = 1\n", "no markdown"),
        ("a.md", "Größe\n".encode("latin-1"), "not UTF-8"),
        ("a.md", b"+++\ntitle = 'A'\n+++\nx\n", "cannot be added to safely"),
        ("a.md", b"---\n{title: A}\n---\nx\n", "begins like frontmatter"),
        ("a.md", b"---\n\nA rule, no frontmatter.\n", "begins like frontmatter"),
        ("a.md", b"---\na: [1\n---\nx\n", "cannot be added to safely"),
    ],
)
def test_a_claim_that_would_not_read_back_as_meant_is_refused(path: str, content: bytes, why: str) -> None:
    with pytest.raises(RefusedError, match=why):
        with_claim(path, content, "old.md")
