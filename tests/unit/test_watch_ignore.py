"""One rule set: gitignore syntax as git means it, safe built-in excludes, and who may lift them."""

from __future__ import annotations

import os
import subprocess
import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from recalld.watch.ignore import Rules

TREE = ("a/b.bak1", "a/b.md", "a/c/d.md", "docs/x/y.md", "docs/z.txt", "foo/keep.md", "foo/drop.md", "k.log", "foo/a/b")


def write(root: Path, *paths: str, text: str = "") -> None:
    for path in paths:
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


def kept_by_git(root: Path) -> set[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard", "-z"],
        cwd=root,
        capture_output=True,
        check=True,
        env={"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1"},
    )
    return {path for path in listed.stdout.decode().split("\0") if path and not path.endswith(".gitignore")}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    write(root, *TREE)
    return root


SEGMENTS = st.sampled_from(["a", "b", "c", "docs", "foo", "*", "**", "*.md", "k*", "x", "?", "[ab]", "keep.md", "d.md"])


@st.composite
def patterns(draw: st.DrawFn) -> str:
    body = "/".join(draw(st.lists(SEGMENTS, min_size=1, max_size=3)))
    return (
        draw(st.sampled_from(["", "", "!"]))
        + draw(st.sampled_from(["", "/"]))
        + body
        + draw(st.sampled_from(["", "/"]))
    )


@example(top=[], nested=["*/"])
@example(top=["a/*/", "!**/"], nested=["?/"])
@example(top=["foo/**/"], nested=["a/**/"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(top=st.lists(patterns(), max_size=4), nested=st.lists(patterns(), max_size=2))
def test_gitignore_files_mean_what_git_means_by_them(tree: Path, top: list[str], nested: list[str]) -> None:
    (tree / ".gitignore").write_text("\n".join(top) + "\n")
    (tree / "foo/.gitignore").write_text("\n".join(nested) + "\n")
    rules = Rules(tree)
    assert {path for path in TREE if not rules.ignores(path)} == kept_by_git(tree)


OUT = """
    .git/config sub/.git/HEAD node_modules/x/readme.md .venv/lib/a.md __pycache__/a.pyc build/notes.md dist/a.md
    target/a.md a.png pack/a.SO image.JPG a.sqlite a.swp .a.md.swp 4913 a.md~ .#a.md #a.md# a.tmp .goutputstream-X1Y2Z3
    .env .env.local prod.env .ENV id_rsa keys/id_ed25519 server.pem tls.key Server.KEY .ssh/config .gnupg/x .netrc
    package-lock.json poetry.lock app.min.js .gitignore .recallignore .~lock.a.odt# credentials.json a.md.orig
"""
IN = """
    a.md notes/environment.md notes/keys.md monkey.md .claude/memory/a.md .github/copilot.md README LICENSE key.md
    a/b/c.py outline.md builds.md tmp.md a#b.md .hidden.md 4914 envelope.env.md
"""


@pytest.mark.parametrize("path", OUT.split())
def test_built_in_excludes(tmp_path: Path, path: str) -> None:
    assert Rules(tmp_path).ignores(path)


@pytest.mark.parametrize("path", IN.split())
def test_ordinary_names_are_in(tmp_path: Path, path: str) -> None:
    assert not Rules(tmp_path).ignores(path)


def test_gitignore_brings_back_outputs_but_no_secrets(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", text="!build/\n!.env\n!*.pem\n")
    write(tmp_path, ".recallignore", text="!.env\n")
    rules = Rules(tmp_path)
    assert not rules.ignores("build/notes.md")
    assert rules.ignores(".env")
    assert rules.ignores("x.pem")


def test_the_repos_own_exclude_has_the_last_word(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", text="*.txt\n")
    rules = Rules(tmp_path, exclude=("!.env.example", "!keep.txt", "drafts/", "!.git/"))
    assert not rules.ignores(".env.example")
    assert not rules.ignores("keep.txt")
    assert rules.ignores("other.txt")
    assert rules.ignores("drafts/a.md")
    assert rules.ignores(".git/config")


def test_recallignore_beats_gitignore(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", text="private/\nlog.md\n")
    write(tmp_path, ".recallignore", text="!private/\nnoise.md\n")
    rules = Rules(tmp_path)
    assert not rules.ignores("private/a.md")
    assert rules.ignores("log.md")
    assert rules.ignores("deep/noise.md")


def test_nested_rules_hold_below_their_directory_only(tmp_path: Path) -> None:
    write(tmp_path, "sub/.recallignore", text="/a.md\n!deep/b.md\n")
    write(tmp_path, ".recallignore", text="b.md\n")
    rules = Rules(tmp_path)
    assert rules.ignores("sub/a.md")
    assert not rules.ignores("a.md")
    assert not rules.ignores("sub/deep/b.md")
    assert rules.ignores("deep/b.md")


def test_info_exclude_is_read(tmp_path: Path) -> None:
    write(tmp_path, ".git/info/exclude", text="mine.md\n")
    assert Rules(tmp_path).ignores("a/mine.md")


def test_include_narrows_files_and_not_directories(tmp_path: Path) -> None:
    rules = Rules(tmp_path, include=("*.md", "docs/", "!docs/raw.txt"))
    assert not rules.ignores("deep/down/a.md")
    assert not rules.ignores("docs/a.txt")
    assert rules.ignores("docs/raw.txt")
    assert rules.ignores("a.txt")
    assert not rules.ignores("deep", is_dir=True)
    assert rules.ignores("node_modules/a.md")


def test_names_match_whatever_their_unicode_form(tmp_path: Path) -> None:
    write(tmp_path, ".recallignore", text=unicodedata.normalize("NFD", "café.md\nrésumés/\n"))
    rules = Rules(tmp_path)
    for form in ("NFC", "NFD"):
        assert rules.ignores(unicodedata.normalize(form, "café.md"))
        assert rules.ignores(unicodedata.normalize(form, "résumés/a.md"))


def test_rules_below_a_directory_named_in_the_other_unicode_form_are_read(tmp_path: Path) -> None:
    name = unicodedata.normalize("NFD", "é")
    write(tmp_path, f"{name}/.recallignore", text="a.md\n")
    assert Rules(tmp_path).ignores(f"{name}/a.md")


def test_broken_rule_files_break_nothing(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_bytes(b"\xff\xfe[\n[\n\n   \n# no\n*.md[\nok.md\n")
    os.mkfifo(tmp_path / ".recallignore")
    (tmp_path / "sub/.gitignore").mkdir(parents=True)
    rules = Rules(tmp_path)
    assert rules.ignores("ok.md")
    assert not rules.ignores("sub/a.md")


def test_an_unreadable_rule_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    rules = Rules(tmp_path)
    rules.ignores("a.md")
    assert set(rules.unreadable) == {".gitignore", ".recallignore", ".git/info/exclude"}


def test_archived_lessons_are_out_unless_brought_back(tmp_path: Path) -> None:
    rules = Rules(tmp_path)
    assert rules.ignores("lessons/archive/run/a.md")
    assert rules.ignores("docs/Lessons/old/Archive", is_dir=True)
    assert not rules.ignores("archive/lessons/a.md")
    assert not rules.ignores("lessons/archive.md")
    assert not rules.ignores("notes/archive/a.md")
    write(tmp_path, ".recallignore", text="!lessons/archive/\n")
    assert not Rules(tmp_path).ignores("lessons/archive/run/a.md")
