"""Several changes as one: all or none, never over a file, never outside, byte for byte."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.errors import RecalldError, RefusedError, UsageError
from recalld.watch.changing import LARGEST, READ_BYTES, Change, Create, Move, Remove, Replace, change, read
from tests.support.directories import short_directory

NAMES = ("a.md", "lessons/b.md", "lessons/n\u00e4me \u6587.md", "lessons/archive/r/a.md", "x/y/z.md")


def sha(content: bytes) -> str:
    return sha256(content).hexdigest()


def files(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def write(root: Path, contents: dict[str, bytes]) -> None:
    for path, content in contents.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)


def test_a_file_moves_with_its_folders_and_its_bytes(tmp_path: Path) -> None:
    write(tmp_path, {"lessons/a.md": b"\xff\r\n\x00"})
    os.chmod(tmp_path / "lessons/a.md", 0o640)
    change(tmp_path, [Move("lessons/a.md", "lessons/archive/r/a.md", sha(b"\xff\r\n\x00"))])
    assert files(tmp_path) == {"lessons/archive/r/a.md": b"\xff\r\n\x00"}
    assert (tmp_path / "lessons/archive/r/a.md").stat().st_mode & 0o777 == 0o640
    change(tmp_path, [Move("lessons/archive/r/a.md", "lessons/a.md", sha(b"\xff\r\n\x00"))])
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.md", "lessons"]


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (Move("a.md", "b.md", sha(b"A")), "b.md is there already"),
        (Move("a.md", "c.md", sha(b"other")), "a.md was changed meanwhile"),
        (Move("none.md", "c.md", sha(b"A")), "none.md is not there"),
        (Move("link.md", "c.md", sha(b"A")), "link.md is not there, or no plain file"),
        (Replace("a.md", sha(b"other"), b"X"), "a.md was changed meanwhile"),
        (Replace("out/x.md", sha(b"out"), b"X"), "symbolic link"),
        (Move("a.md", "out/x.md", sha(b"A")), "symbolic link"),
        (Move("a.md", "out/new/x.md", sha(b"A")), "symbolic link"),
        (Create("out/new/x.md", b"X"), "symbolic link"),
        (Create("b.md", b"X"), "exists already"),
        (Move("a.md", "../c.md", sha(b"A")), "no path inside"),
        (Move("/etc/passwd", "c.md", sha(b"A")), "no path inside"),
        (Move("a.md", "b.md/c.md", sha(b"A")), "cannot be changed"),
    ],
)
def test_one_that_cannot_be_made_takes_the_others_back(tmp_path: Path, step: Change, why: str) -> None:
    root = tmp_path / "repo"
    write(root, {"a.md": b"A", "b.md": b"B", "d.md": b"D", "e.md": b"E"})
    write(tmp_path, {"outside/x.md": b"out"})
    (root / "link.md").symlink_to("a.md")
    (root / "out").symlink_to(tmp_path / "outside")
    before = files(tmp_path)
    others: list[Change] = [
        Move("d.md", "archive/d.md", sha(b"D")),
        Create("archive/new.md", b"new"),
        Replace("e.md", sha(b"E"), b"other"),
    ]
    with pytest.raises(RecalldError, match=why):
        change(root, [*others, step])
    assert files(tmp_path) == before
    assert not (root / "archive").exists()
    assert not (tmp_path / "outside/new").exists()


STEPS = st.lists(
    st.one_of(
        st.builds(Create, st.sampled_from(NAMES), st.binary(max_size=4)),
        st.builds(Move, st.sampled_from(NAMES), st.sampled_from(NAMES), st.sampled_from([sha(b"1"), sha(b"2")])),
        st.builds(
            Replace, st.sampled_from(NAMES), st.sampled_from([sha(b"1"), sha(b"2")]), st.sampled_from([b"1", b"2"])
        ),
    ),
    min_size=1,
    max_size=5,
)


@given(st.dictionaries(st.sampled_from(NAMES), st.sampled_from([b"1", b"2"])), STEPS)
def test_all_or_none(contents: dict[str, bytes], steps: list[Change]) -> None:
    with short_directory() as root:
        write(root, contents)
        expected = dict(contents)
        fails = False
        for step in steps:
            if isinstance(step, Create):
                fails = step.path in expected
                new = {step.path: step.content}
            elif isinstance(step, Replace):
                fails = sha(expected.get(step.path, b"")) != step.expected
                new = {step.path: step.content}
            else:
                fails = sha(expected.get(step.path, b"")) != step.expected or step.to in expected
                new = {step.to: expected.pop(step.path)} if not fails else {}
            if fails:
                break
            expected |= new
        if fails:
            with pytest.raises(RefusedError):
                change(root, steps)
        else:
            change(root, steps)
        assert files(root) == (contents if fails else expected)


def test_reading(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    write(root, {"a.md": b"\xff\r\n", "big.md": b"x" * (READ_BYTES + 1), "b.md": b"b" * (READ_BYTES - 1)})
    write(tmp_path, {"x.md": b"out"})
    (root / "link.md").symlink_to("a.md")
    os.mkfifo(root / "pipe.md")
    wanted = ["none.md", "a.md", "big.md", "link.md", "pipe.md", "b.md", "a.md"]
    found, looked_at = read(root, wanted)
    assert (found, looked_at) == ({"a.md": b"\xff\r\n"}, 5)
    assert read(root, wanted[5:])[0].keys() == {"b.md"}
    with pytest.raises(UsageError):
        read(root, ["../x.md"])


def test_a_file_is_removed_with_the_folders_that_it_empties_and_comes_back_when_a_later_step_fails(
    tmp_path: Path,
) -> None:
    write(tmp_path, {"documents/a.md": b"A\r\n", "b.md": b"B"})
    removal = Remove("documents/a.md", sha(b"A\r\n"))
    with pytest.raises(RefusedError, match=r"b\.md"):
        change(tmp_path, [removal, Create("b.md", b"new")])
    assert files(tmp_path) == {"documents/a.md": b"A\r\n", "b.md": b"B"}
    change(tmp_path, [removal])
    assert [path.name for path in tmp_path.rglob("*")] == ["b.md"]


@pytest.mark.parametrize("path", ["b.md", "none.md", "folder.md"])
def test_what_is_not_as_expected_is_not_removed(tmp_path: Path, path: str) -> None:
    write(tmp_path, {"b.md": b"B", "folder.md/c.md": b"C"})
    with pytest.raises(RefusedError):
        change(tmp_path, [Remove(path, sha(b"other"))])
    assert files(tmp_path) == {"b.md": b"B", "folder.md/c.md": b"C"}


def test_large_files_are_read_and_replaced_when_asked_for_and_folders_never_are(tmp_path: Path) -> None:
    large = b"x" * (READ_BYTES + 1)
    write(tmp_path, {"a.md": large, "b.md": large, "c.md": b"x" * (LARGEST + 1), "folder.md/x": b""})
    assert read(tmp_path, ["a.md", "folder.md"]) == ({}, 2)
    assert read(tmp_path, ["a.md", "b.md"], LARGEST) == ({"a.md": large}, 1)
    assert read(tmp_path, ["c.md"], LARGEST) == ({}, 1)
    change(tmp_path, [Replace("a.md", sha(large), b"small")])
    assert (tmp_path / "a.md").read_bytes() == b"small"
