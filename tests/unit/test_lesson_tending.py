"""What prune and consolidate may touch, and what an audit says: properties, on lessons of every kind."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from recalld.lessons.audit import CHECK_TOKENS, Loaded, audit
from recalld.lessons.consolidate import Group, Member, groups
from recalld.lessons.lesson_edit import seen_again, with_key
from recalld.lessons.lesson_file import LessonFile, learned, read_lesson, render
from recalld.lessons.likeness import Said, same_lesson
from recalld.lessons.prune import Candidate, decide
from recalld.store.usage import Use

NOW = datetime(2026, 6, 1, tzinfo=UTC)
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
GRACE = timedelta(days=90)
WORDS = ("time the migration", "quote file names", "drain the queue", "renew the certificate", "on a copy", "at night")


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """The bytes of a lesson's file, perhaps pinned, seen again, proposed or touched by a person."""
    made = learned(
        title=draw(st.sampled_from(WORDS)),
        check=draw(st.sampled_from(WORDS)),
        body=draw(st.lists(st.sampled_from((*WORDS, "", "```\ncode\n\n}\n```", "é 文")), max_size=4).map("\n".join)),
        tags=draw(st.lists(st.sampled_from(WORDS), max_size=2)),
        scope=draw(st.lists(st.sampled_from(("db/**", "*.py")), max_size=2)),
        trigger=draw(st.sampled_from(("", "ERR: x"))),
        proposed=draw(st.booleans()) and draw(st.booleans()),
        agent=draw(st.sampled_from(("alice", "bob"))),
        at=NOW - timedelta(days=draw(st.integers(0, 200))),
    )
    raw = render(made).encode()
    if draw(st.integers(0, 3)) == 0:
        raw = seen_again("a.md", raw, NOW - timedelta(days=draw(st.integers(0, 200))), "carol")
    if draw(st.integers(0, 4)) == 0:
        raw = with_key("a.md", raw, "pinned", True)
    touch = draw(st.integers(0, 6))
    if touch == 0:
        raw += b"\nA person's afterthought.\n"
    elif touch == 1:
        raw = raw.replace(b"kind: lesson\n", b"kind: lesson\nowner: me\n")
    elif touch == 2:
        raw = raw.replace(b"\n", b"\r\n")
    return raw


USES = st.builds(Use, *(st.integers(0, 1).filter(lambda n: n == 0) | st.integers(0, 2) for _ in range(5)))


@settings(max_examples=50)
@given(st.lists(st.tuples(files(), USES), max_size=8), st.integers(1, 4), st.sampled_from((None, 10, 89, 91, 400)))
def test_prune_touches_nothing_that_could_be_missed(
    drawn: list[tuple[bytes, Use]], most: int, watched_days: int | None
) -> None:
    candidates = [Candidate(f"l/{n}.md", read_lesson("x", raw), use) for n, (raw, use) in enumerate(drawn)]
    since = None if watched_days is None else NOW - timedelta(days=watched_days)
    decision = decide(candidates, now=NOW, grace=GRACE, most=most, counted_since=since)
    assert len(decision.proposed) <= most
    assert {each.path for each in decision.proposed} | {each.path for each in decision.kept} == {
        each.path for each in candidates
    }
    assert all(kept.reason for kept in decision.kept)
    for each in decision.proposed:
        lesson = each.lesson
        assert since is not None
        assert since <= NOW - GRACE
        assert lesson.machine_written
        assert not lesson.pinned
        assert not lesson.proposed
        assert (lesson.seen_count, len(lesson.seen)) == (1, 1)
        assert not each.use.used
        assert not each.use.recurred
        assert lesson.learned_at is not None
        assert lesson.last_seen is not None
        assert max(lesson.learned_at, lesson.last_seen) < NOW - GRACE


def old(**changed: object) -> LessonFile:
    made = learned(title="Quote names", check="quoted", body="", agent="a", at=NOW - timedelta(days=100))
    return replace(made, **changed)  # type: ignore[arg-type]


def reason(
    lesson: LessonFile, use: Use | None = None, since: datetime | None = datetime(2020, 1, 1, tzinfo=UTC)
) -> str:
    decision = decide([Candidate("a", lesson, use or Use())], now=NOW, grace=GRACE, most=1, counted_since=since)
    return decision.kept[0].reason if decision.kept else "goes"


def test_each_lesson_that_stays_has_its_reason() -> None:
    assert reason(old()) == "goes"
    assert reason(old(pinned=True)) == "it is pinned"
    assert reason(old(machine_written=False)) == "a person wrote it, or changed it"
    assert reason(old(status="proposed")) == "it waits to be accepted or rejected"
    assert reason(old(seen_count=2)).startswith("the failure recurred")
    assert reason(old(), Use(recurred=1)).startswith("the failure recurred")
    assert reason(old(), Use(surfaced=1)).startswith("it was of use")
    assert reason(old(), Use(failed=1)).startswith("it was of use")
    assert reason(old(last_seen=NOW)) == "it is too young"
    assert reason(old(learned_at=None)) == "it is too young"
    assert reason(old(), since=NOW - timedelta(days=1)) == "whether it is used is known only since 2026-05-31"
    assert reason(old(), since=None) == "whether it is used is known not yet"


def lines_of(lesson: LessonFile) -> set[str]:
    return {lesson.title, lesson.check, lesson.trigger, *lesson.body.split("\n")}


@settings(max_examples=50)
@given(st.lists(files(), min_size=2, max_size=7))
def test_a_merge_loses_nothing_and_is_of_machines_alone(drawn: list[bytes]) -> None:
    members = [Member(f"l/{n}.md", raw, read_lesson(f"l/{n}.md", raw)) for n, raw in enumerate(drawn)]
    found = groups(members)
    assert sum(len(group.members) for group in found) == len({m.path for group in found for m in group.members})
    for group in found:
        said = [Said(m.lesson.title, m.lesson.check, m.lesson.body) for m in group.members]
        assert all(same_lesson(one, other) for one in said for other in said)
        if group.why_not:
            continue
        assert all(m.lesson.machine_written and not m.lesson.pinned for m in group.members)
        text = render(group.merged())
        merged = read_lesson(group.base.path, text.encode())
        assert merged == group.merged()
        assert merged.machine_written
        for member in group.members:
            lesson = member.lesson
            assert lines_of(lesson) <= lines_of(merged) | {""}
            assert set(lesson.tags) <= set(merged.tags)
            assert set(lesson.scope) <= set(merged.scope) or not merged.scope
            assert set(lesson.seen) <= set(merged.seen)
            assert lesson.learned_at is not None
            assert merged.learned_at is not None
            assert merged.learned_at <= lesson.learned_at
        assert merged.seen_count == sum(member.lesson.seen_count for member in group.members)
        assert len(merged.seen) == sum(len(member.lesson.seen) for member in group.members)
        assert any(not member.lesson.scope for member in group.members) == (not merged.scope)


def member(path: str, **changed: object) -> Member:
    fields = {"title": "Quote names", "check": "names are quoted", "body": "x", "agent": "a", "at": NOW, **changed}
    raw = render(learned(**fields)).encode()  # type: ignore[arg-type]
    return Member(path, raw, read_lesson(path, raw))


def test_a_group_is_named_by_what_it_holds() -> None:
    one, two = member("a.md"), member("b.md", body="y")
    [group] = groups([two, one])
    assert groups([one, two])[0].id == group.id
    assert Group((one, member("b.md", body="z"))).id != group.id
    assert (group.base, group.why_not) == (one, "")
    assert group.diff().splitlines()[-3:] == ["+", "+- 2026-06-01T00:00:00Z a", " - 2026-06-01T00:00:00Z a"] or (
        "+y" in group.diff().splitlines()
    )


def test_why_a_group_is_left_to_people() -> None:
    one = member("a.md")
    raw = one.content + b"\nMine.\n"
    edited = Member("b.md", raw, read_lesson("b.md", raw))
    pinned = with_key("c.md", one.content, "pinned", True)
    assert "b.md: merge them by hand" in Group((one, edited)).why_not
    assert "c.md is pinned" in Group((one, Member("c.md", pinned, read_lesson("c.md", pinned)))).why_not
    assert "review these first" in Group((one, member("d.md", proposed=True))).why_not


def loaded(path: str, kind: str = "lesson", tokens: int = 100, check: int = 10, **more: object) -> Loaded:
    said = Said(path, f"check of {path}")
    return Loaded(path, kind, tokens, check, content_hash=path, said=said, **more)  # type: ignore[arg-type]


def test_an_audit() -> None:
    files = [
        loaded("lessons/used.md"),
        loaded("lessons/idle.md"),
        loaded("lessons/old.md", verdict="superseded", reason="by b"),
        loaded("lessons/waiting.md", proposed=True),
        loaded("rules/r.md", "rule", 600, 0),
    ]
    twin = replace(files[1], path="lessons/twin.md")
    uses = {
        "lessons/used.md": Use(surfaced=4, first_at=NOW - timedelta(days=2)),
        "rules/r.md#one": Use(surfaced=2, first_at=NOW - timedelta(days=1)),
        "lessons/idle.md": Use(recurred=3),
    }
    found = audit([*files, twin], uses, NOW)
    assert found.files == {"lesson": 5, "rule": 1}
    assert found.never_used == ("lessons/idle.md", "lessons/old.md", "lessons/twin.md")
    assert [each.path for each in found.stale] == ["lessons/old.md"]
    assert found.duplicates == (("lessons/idle.md", "lessons/twin.md"),)
    assert found.proposed == ("lessons/waiting.md",)
    assert (found.loaded_tokens, found.surfaced_tokens, found.surfacings) == (1100, 60, 6)
    assert found.days == 2
    assert found.saving is not None
    assert abs(found.saving - (1 - 30 / 1100)) < 1e-9
    assert found.findings == 3


def test_an_audit_of_nothing() -> None:
    found = audit([], {}, NOW)
    assert (found.loaded_tokens, found.saving, found.findings) == (0, None, 0)
    idle = audit([loaded("a", check=0)], {"b": Use(surfaced=2, first_at=NOW)}, NOW)
    assert idle.surfaced_tokens == 2 * CHECK_TOKENS
    assert idle.days == 1
