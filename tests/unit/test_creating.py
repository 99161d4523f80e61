"""Files of ours: new ones only, whole, and inside the repo; and a claim written into a person's file when told to."""

from __future__ import annotations

from pathlib import Path

import pytest

from recalld.cli.supersede import with_claim
from recalld.errors import DependencyError, RefusedError, UsageError
from recalld.watch.creating import create


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


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# A\n", "---\nsupersedes: old.md\n---\n# A\n"),
        ("---\ntitle: A\n---\nx\n", "---\ntitle: A\nsupersedes: old.md\n---\nx\n"),
        ("---\r\ntitle: A\r\n---\r\nx\r\n", "---\r\ntitle: A\r\nsupersedes: old.md\r\n---\r\nx\r\n"),
        ("---\n\nA rule, and no frontmatter.\n", "---\nsupersedes: old.md\n---\n---\n\nA rule, and no frontmatter.\n"),
    ],
)
def test_a_claim_in_the_frontmatter(before: str, after: str) -> None:
    assert with_claim(before, "old.md") == after


def test_a_claim_that_stands_there_is_left_to_its_author() -> None:
    with pytest.raises(RefusedError, match="already what it replaces"):
        with_claim("---\nReplaces: other\n---\nx\n", "old.md")
