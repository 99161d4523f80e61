"""Lessons as files: what is written reads back, whatever it holds, and edits touch what is the daemon's alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recalld.errors import RefusedError
from recalld.ingest.parse import read
from recalld.ingest.written import one_line
from recalld.lessons.lesson_edit import seen_again, with_key
from recalld.lessons.lesson_file import LessonFile, digest_of, learned, read_lesson, render
from recalld.lint.check import check
from recalld.lint.memory import Memory

AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
LATER = AT + timedelta(days=1)
HOSTILE = (
    "a: b",
    "- item",
    "# comment",
    "'single' and \"double\"",
    "two\nlines\r\nthree",
    "---",
    "true",
    "0161",
    "3.10",
    "~",
    "{{template}}",
    "[flow, seq]",
    "*alias &anchor !tag %dir @at `tick`",
    "\x1b[31mred\x1b[0m \x00 nul",
    "\u202eright to left",
    "naïve ünïcode 文字 🚢",
    "back\\slash \\n \\u0041",
    "ends with colon:",
    " # hash",
    "\ufeffmark",
    "line\u2028separator\x85next",
    "x" * 500,
)


def lesson(**changed: object) -> LessonFile:
    fields = {"title": "Time migrations", "check": "it was timed", "body": "On a copy.", "agent": "alice", "at": AT}
    return learned(**{**fields, **changed})  # type: ignore[arg-type]


def content(**changed: object) -> bytes:
    return render(lesson(**changed)).encode()


def test_what_a_lesson_looks_like() -> None:
    made = lesson(scope=["db/**"], tags=["migrations"], trigger="ERR: lock timeout", proposed=True)
    assert render(made).splitlines() == [
        "---",
        "title: Time migrations",
        "kind: lesson",
        "check: it was timed",
        "status: proposed",
        'scope: ["db/**"]',
        'tags: ["migrations"]',
        "trigger: 'ERR: lock timeout'",
        "learned_by: alice",
        "learned_at: '2026-03-04T05:06:07Z'",
        "seen_count: 1",
        "last_seen: '2026-03-04T05:06:07Z'",
        f"digest: {made.digest}",
        "---",
        "",
        "On a copy.",
        "",
        "## Seen",
        "",
        "- 2026-03-04T05:06:07Z alice",
    ]


TEXT = st.text(max_size=80) | st.sampled_from(HOSTILE)


@given(
    title=TEXT,
    check=TEXT,
    body=st.lists(TEXT, max_size=5).map("\n".join),
    words=st.lists(TEXT, max_size=4),
    trigger=TEXT,
    proposed=st.booleans(),
)
@example(title="a", check="b", body="## Seen\n\n- 2026-01-01T00:00:00Z bob", words=[], trigger="", proposed=False)
@example(title="a", check="b", body="---\ntitle: other\n---\n", words=["a, b"], trigger="", proposed=True)
@example(title="a", check="b", body="```\nnever closed", words=[], trigger="", proposed=False)
def test_whatever_is_learned_reads_back(
    title: str, check: str, body: str, words: list[str], trigger: str, proposed: bool
) -> None:
    title = one_line(title) or "t"
    made = lesson(title=title, check=check, body=body, tags=words, scope=words, trigger=trigger, proposed=proposed)
    raw = render(made).encode()
    found = read_lesson("lessons/a.md", raw)
    assert found == made
    assert found.machine_written
    document = read("lessons/a.md", raw).document
    assert document.kind == "lesson"
    assert title.startswith(document.title.removesuffix("\u2026"))
    again = read_lesson("lessons/a.md", seen_again("lessons/a.md", raw, LATER, "bob"))
    assert (again.seen_count, again.last_seen, again.machine_written) == (2, LATER, True)
    accepted = with_key("lessons/a.md", raw, "status", None)
    assert read_lesson("lessons/a.md", accepted) == replace(made, status="")


@pytest.mark.parametrize("title", HOSTILE)
def test_hostile_titles_lint_clean(title: str) -> None:
    document = read("lessons/a.md", content(title=title))
    assert document.document.title
    assert list(check(Memory([document], AT))) == []
    assert document.document.findings == ()


def test_escapes_and_unseen_characters_go() -> None:
    made = lesson(title="\x1b[31mDo\x1b[0m\tnot\x00", body="a\r\nb\x07\u202e  \n\n")
    assert (made.title, made.body) == ("Do not", "a\nb")


@pytest.mark.parametrize(
    "touched",
    [
        lambda raw: raw.replace(b"On a copy.", b"On two copies."),
        lambda raw: raw.replace(b"title: Time", b"title: Do time"),
        lambda raw: raw.replace(b"check: it", b"check: that it"),
        lambda raw: raw.replace(b"kind: lesson\n", b"kind: lesson\nowner: bob\n"),
        lambda raw: raw.replace(b"kind: lesson\n", b"kind: lesson\ntags: [db]\n"),
        lambda raw: raw.replace(b"kind: lesson\n", b"kind: lesson  # sic\n"),
        lambda raw: raw + b"\nAn afterthought.\n",
        lambda raw: raw.replace(b"learned_by: alice\n", b""),
        lambda raw: raw.replace(b"digest:", b"digested:"),
        lambda raw: b"\xef\xbb\xbf" + raw,
    ],
)
def test_a_file_that_a_person_touched_is_a_persons(touched) -> None:  # type: ignore[no-untyped-def]
    raw = content()
    assert read_lesson("a.md", raw).machine_written
    assert not read_lesson("a.md", touched(raw)).machine_written


def test_line_ends_make_no_author() -> None:
    """git may check files out with CRLF."""
    assert read_lesson("a.md", content().replace(b"\n", b"\r\n")).machine_written


def test_a_persons_lesson() -> None:
    raw = b"---\nkind: lesson\nscope: src/**\ntags: one\npinned: true\nseen_count: no\n---\n# By hand\n\nText.\n"
    found = read_lesson("lessons/hand.md", raw)
    assert (found.title, found.body, found.scope) == ("By hand", "# By hand\n\nText.", ("src/**",))
    assert (found.pinned, found.seen_count, found.learned_at, found.machine_written) == (True, 0, None, False)
    assert read_lesson("lessons/no-name.md", b"").title == "no-name"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "---\r\n# why\r\nseen_count: 1 # mine\r\nZeta: 'x'   \r\n---\r\nText\r\n\r\n## Seen\r\n\r\n- old\r\n",
            "---\r\n# why\r\nseen_count: 2 # mine\r\nZeta: 'x'   \r\nlast_seen: '2026-03-05T05:06:07Z'\r\n---\r\n"
            "Text\r\n\r\n## Seen\r\n\r\n- 2026-03-05T05:06:07Z bob\r\n- old\r\n",
        ),
        (
            "\ufeff---\ntitle: x\nlast_seen: never\n---\nText without an end",
            "\ufeff---\ntitle: x\nlast_seen: '2026-03-05T05:06:07Z'\nseen_count: 2\n---\nText without an end\n\n"
            "## Seen\n\n- 2026-03-05T05:06:07Z bob\n",
        ),
        (
            "---\na: 1\n---\nT\n\n## Seen\n\n- 2026-01-01T00:00:00Z al\n\nAfterword.\n",
            "---\na: 1\nseen_count: 2\nlast_seen: '2026-03-05T05:06:07Z'\n---\nT\n\n## Seen\n\n"
            "- 2026-01-01T00:00:00Z al\n- 2026-03-05T05:06:07Z bob\n\nAfterword.\n",
        ),
    ],
)
def test_a_sighting_leaves_every_other_byte(before: str, after: str) -> None:
    assert seen_again("a.md", before.encode(), LATER, "bob") == after.encode()


@pytest.mark.parametrize(
    "raw",
    [
        b"no frontmatter\n",
        b"+++\ntitle = 'x'\n+++\n",
        b"---\n{title: x}\n---\n",
        b"---\nseen_count:\n  1\n---\n",
        b"---\na: [1\n---\n",
        b"---\ntitle: \xff\n---\n",
    ],
)
def test_what_cannot_be_edited_safely_is_refused(raw: bytes) -> None:
    with pytest.raises(RefusedError):
        seen_again("a.md", raw, LATER, "bob")


def test_pins() -> None:
    pinned = with_key("a.md", content(), "pinned", True)
    assert read_lesson("a.md", pinned).pinned
    assert with_key("a.md", pinned, "pinned", None) == content()


def test_the_digest_is_of_what_is_taught() -> None:
    made = lesson()
    assert digest_of(made) == digest_of(replace(made, seen_count=9, pinned=True, status="proposed", digest=""))
    assert digest_of(made) != digest_of(replace(made, check="another"))
