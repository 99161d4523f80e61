"""Each rule of lint, on small memories: what it finds, and what it leaves alone."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.lint.catalogue import CODES
from recalld.lint.check import RULES
from recalld.lint.secrets import secrets
from tests.support.linting import lint, told

TEXT = "The harbour masters of both towns agreed on this in spring, after a long winter of mails that nobody had read."
FAULTS: list[tuple[str, Mapping[str, str], str, int | None]] = [
    ("self-supersedes", {"a.md": "---\nsupersedes: a\n---\nA.\n"}, "a.md", 2),
    ("dangling-supersedes", {"a.md": "---\ntitle: A\nsupersedes: no-such-memo\n---\nA.\n"}, "a.md", 3),
    ("dangling-supersedes", {"a.md": "# A\n\n- Status: Superseded by ADR-99\n\nA.\n"}, "a.md", 3),
    (
        "ambiguous-supersedes",
        {"x/p.md": "P.\n", "y/p.md": "P too.\n", "u.md": "---\nsupersedes: p\n---\nU.\n"},
        "u.md",
        2,
    ),
    (
        "supersession-cycle",
        {"a.md": "---\nsupersedes: b\n---\nA.\n", "b.md": "---\nsupersedes: a\n---\nB.\n"},
        "a.md",
        2,
    ),
    ("invalid-date", {"a.md": "---\nvalid_until: soon\n---\nA.\n"}, "a.md", 2),
    ("validity-empty", {"a.md": "---\nvalid_from: 2026-02-01\nvalid_until: 2026-01-01\n---\nA.\n"}, "a.md", 3),
    ("duplicate-id", {"a.md": "---\nid: X-1\n---\nA.\n", "b.md": "---\nid: x-1\n---\nB.\n"}, "b.md", 2),
    ("frontmatter-broken", {"a.md": "---\ntitle: [a\nkind: x\n---\nA.\n"}, "a.md", None),
    ("one-sided-supersession", {"a.md": "A.\n", "b.md": "---\nsupersedes: a\n---\nB.\n"}, "a.md", None),
    ("one-sided-supersession", {"a.md": "---\nsuperseded_by: b\n---\nA.\n", "b.md": "B.\n"}, "b.md", None),
    (
        "superseded-status-accepted",
        {"a.md": "---\nstatus: Accepted\n---\nA.\n", "b.md": "---\nsupersedes: a\n---\nB.\n"},
        "a.md",
        2,
    ),
    ("unadopted-supersedes", {"a.md": "A.\n", "b.md": "---\nstatus: proposed\nsupersedes: a\n---\nB.\n"}, "b.md", 3),
    ("partial-supersession", {"a.md": "A.\n", "b.md": "---\nsupersedes: a (rule 1 only)\n---\nB.\n"}, "b.md", 2),
    ("version-sibling-unlinked", {"x_v1.md": "One.\n", "x_v3.md": "Three.\n"}, "x_v1.md", None),
    ("version-sibling-unlinked", {"x-v01.md": "One.\n", "x-v02.md": "Two.\n"}, "x-v01.md", None),
    ("closed-in-prose", {"a.md": "# A\n\nThis decision is superseded by the new one.\n"}, "a.md", 3),
    ("closed-in-prose", {"a.md": "# A\n\n**DEPRECATED**\n\nText.\n"}, "a.md", 3),
    (
        "near-duplicate-of-superseded",
        {
            "a.md": f"---\nsuperseded_by: b\n---\n{TEXT}\n",
            "b.md": "---\nsupersedes: a\n---\nB.\n",
            "copy.md": f"{TEXT}\n",
        },
        "copy.md",
        None,
    ),
    ("orphan-lesson", {"lessons/a.md": "Never do that again.\n"}, "lessons/a.md", 1),
    ("orphan-lesson", {"lessons/a.md": "---\nincident: incidents/gone.md\n---\n# A\n\nx\n"}, "lessons/a.md", 2),
    ("broken-link", {"a.md": "# A\n\nSee [that](gone.md).\n"}, "a.md", 3),
    ("broken-link", {"a.md": "# A\n\nSee [[gone-too]].\n"}, "a.md", 3),
    ("empty-file", {"a.md": "  \n"}, "a.md", None),
    ("frontmatter-almost", {"a.md": "----\ntitle: A\nstatus: accepted\n----\nA.\n"}, "a.md", 1),
    ("frontmatter-almost", {"a.md": "---\ntitle: A\n---\n---\nstatus: accepted\nkind: rule\n---\nA.\n"}, "a.md", 4),
    ("frontmatter-unclosed", {"a.md": "---\ntitle: A\nstatus: accepted\n\nText.\n"}, "a.md", None),
    ("fence-unclosed", {"a.md": "# A\n\n```\ncode\n"}, "a.md", 3),
]


@pytest.mark.parametrize(("code", "files", "path", "line"), FAULTS)
def test_a_fault_is_found(tmp_path: Path, code: str, files: Mapping[str, str], path: str, line: int | None) -> None:
    matching = [finding for finding in lint(tmp_path, files) if finding.code == code and finding.path == path]
    assert matching, told(lint(tmp_path))
    assert len(matching) == 1
    assert matching[0].severity == CODES[code].severity
    assert matching[0].hint
    assert line is None or matching[0].line == line


SOUND: list[Mapping[str, str]] = [
    {"a.md": "---\nstatus: superseded\nsuperseded_by: b\n---\nA.\n", "b.md": "---\nsupersedes: [[a]]\n---\nB.\n"},
    {"x_v1.md": "---\nsuperseded_by: x_v2\n---\nOne.\n", "x_v2.md": "---\nsupersedes: x_v1\n---\nTwo.\n"},
    {"a.md": "# A\n\nThe old client is deprecated, and Postgres replaced it. `superseded by` is a key.\n"},
    {"a.md": "# A\n\n```\nsupersedes: no-such-memo\n[x](gone.md)\n```\n"},
    {
        "a.md": "# A\n\nSee [b](b.md#part), [c](https://example.org/c.md), [[b|that]] and [d](sub/).\n",
        "b.md": "B.\n",
        "sub/d.md": "D.\n",
    },
    {"adr/0001-a.md": "---\nid: 1\n---\nA.\n", "rfc/0001-b.md": "---\nadr: 1\n---\nB.\n"},
    {"lessons/a.md": "---\nincident: incidents/i.md\n---\n# A\n\nx\n", "incidents/i.md": "# I\n\nx\n"},
    {"a.md": "---\n\nA thematic break begins this text: nothing more.\n\n---\n"},
    {"a.md": "", ".recallignore": "a.md\n"},
]


@pytest.mark.parametrize("files", SOUND)
def test_a_sound_memory_is_left_alone(tmp_path: Path, files: Mapping[str, str]) -> None:
    assert told(lint(tmp_path, files)) == []


def test_a_circle_is_told_once_and_names_all(tmp_path: Path) -> None:
    files = {f"{name}.md": f"---\nsupersedes: {old}\n---\n{name}\n" for name, old in ("ab", "bc", "ca")}
    circles = [finding for finding in lint(tmp_path, files) if finding.code == "supersession-cycle"]
    assert len(circles) == 1
    assert circles[0].path == "a.md"
    assert all(name in circles[0].message for name in ("a.md", "b.md", "c.md"))


def test_unreadable_files_are_told_and_the_rest_is_linted(tmp_path: Path) -> None:
    files = {"bad.md": b"\x00\x01\x02\x03" * 64, "a.md": "---\nsupersedes: no-such-memo\n---\nA.\n"}
    assert set(told(lint(tmp_path, files))) == {("unreadable-file", "bad.md"), ("dangling-supersedes", "a.md")}


def test_a_file_too_large_is_told(tmp_path: Path) -> None:
    with (tmp_path / "big.md").open("wb") as file:
        os.truncate(file.fileno(), 9_000_000)
    assert told(lint(tmp_path)) == [("oversized-file", "big.md")]


AWS, GITHUB = "AKIA" + "Q3EGRIVIDN7WX5KZ", "ghp_" + "a8Fk2LmP0sQx7VbN4cRt9WzY1uEjH6gD3oKi"


@pytest.mark.parametrize(
    "line",
    [
        f"The key is {AWS} for now.",
        f"export TOKEN={GITHUB}",
        "-----BEGIN RSA PRIVATE KEY-----",
        "postgres://ledger:q7Zk2mPx9@db.internal/ledger",
        'api_key = "8f14e45fceea167a5a36dedd4bea2543"',
    ],
)
def test_a_secret_is_found_and_not_shown(tmp_path: Path, line: str) -> None:
    [finding] = lint(tmp_path, {"a.md": f"# A\n\n{line}\n"})
    assert (finding.code, finding.path, finding.line) == ("secret", "a.md", 3)
    words = [word for word in line.replace('"', " ").replace("=", " ").split() if len(word) > 15]
    assert not any(word in f"{finding.message}{finding.hint}" for word in words if "PRIVATE" not in word)


@pytest.mark.parametrize(
    "line",
    [
        "api_key = YOUR_API_KEY_GOES_HERE_12345",
        "postgres://postgres:postgres@localhost/db",
        "password: ${DB_PASSWORD}",
        "sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "see commit 8f14e45fceea167a5a36dedd4bea2543",
    ],
)
def test_what_is_no_secret_is_left_alone(tmp_path: Path, line: str) -> None:
    assert lint(tmp_path, {"a.md": f"# A\n\n{line}\n"}) == []


def test_two_tokens_of_one_format_are_two() -> None:
    """A format's name is no secret: told by it, a baseline would forgive every further token."""
    one, other = "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "ghp_26C7e42F292c6912E7710c838347Ae178B4b"
    messages = [finding.message for finding in secrets("a.md", f"{one}\n{other}\n{one}\n")]
    assert len(set(messages)) == 2
    assert all("40 characters" in message for message in messages)


def test_secrets_can_be_left_out(tmp_path: Path) -> None:
    assert lint(tmp_path, {"a.md": f"# A\n\n{AWS}\n"}, with_secrets=False) == []


def test_every_rule_has_a_test() -> None:
    """The codes that rules of our own tell, beside the parser's, are all shown above."""
    ours = {name for name in CODES if name.split("-")[0] not in ("rst", "source", "symlink", "encoding", "nul", "name")}
    ours -= {"special-file", "edge-unclear", "placeholder-date", "probable-supersession", "frontmatter-late"}
    ours -= {name for name in ours if name.startswith("frontmatter-")} - {"frontmatter-almost"}
    shown = {code for code, *_ in FAULTS} | {"unreadable-file", "oversized-file", "secret"}
    assert ours <= shown
    assert len(RULES) == 13


@pytest.mark.parametrize("seed", ["a-", "api_key", "eyJ", "://", "://a:", "_authToken //"])
def test_an_endless_line_is_looked_at_in_good_time(seed: str) -> None:
    begun = time.process_time()
    list(secrets("a.md", (seed * 300_000)[:300_000] + " _authToken api_key eyJ"))
    assert time.process_time() - begun < 10


@given(st.integers(0, 12_000), st.integers(0, 12_000), st.sampled_from(["x", "a-", "\u00e9 ", "word "]))
def test_a_secret_is_found_once_wherever_it_stands_in_a_long_line(before: int, after: int, filler: str) -> None:
    text = f"{(filler * 12_000)[:before]} AKIAQYLPMN5HHHFPZAM2 {(filler * 12_000)[:after]}"
    [finding] = secrets("a.md", f"# First\n{text}\nlast\n")
    assert finding.line == 2
