"""When jobs are due: whatever the clock of a node says, all agree on the slots, and none comes early."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.errors import ConfigError
from recalld.jobs.job import plans
from recalld.jobs.slots import Plan, Times, slot_name, times_of
from recalld.settings import JobSettings, ScheduleSettings

WHENS = (
    "every 6h",
    "15m",
    "every 90 s",
    "2d",
    "30 3 * * *",
    "*/7 * * * *",
    "0 0 29 2 *",
    "5 4 1-7 * 0",
    "0 12 * * 1-5",
)
MOMENTS = st.datetimes(datetime(2021, 1, 1), datetime(2035, 1, 1), timezones=st.just(UTC))
JITTERS = st.sampled_from([0, 1, 30, 3_600, 86_400]).map(lambda seconds: timedelta(seconds=seconds))


def read(when: str) -> Times:
    times = times_of("schedule.lint", when)
    assert times is not None
    return times


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@given(st.sampled_from(WHENS), MOMENTS)
def test_before_and_after_a_moment_are_neighbours(when: str, moment: datetime) -> None:
    times = read(when)
    before, after = times.until(moment), times.after(moment)
    assert before is not None
    assert after is not None
    assert before <= moment < after
    assert times.after(before) == after
    assert times.until(before) == before
    assert times.until(after - timedelta(microseconds=1)) == before


@given(st.sampled_from(WHENS), MOMENTS, JITTERS, st.sampled_from(["a", "node-2"]))
def test_jitter_delays_a_slot_and_never_changes_it(when: str, moment: datetime, jitter: timedelta, node: str) -> None:
    plan = Plan("lint", read(when), jitter, timedelta(hours=1))
    found = plan.next_due(moment, node)
    assert found is not None
    slot, due = found
    assert due > moment
    assert slot <= due <= slot + jitter
    assert plan.times.until(slot) == slot
    assert plan.due(slot, node) == due
    following = plan.times.after(slot)
    assert following is not None
    assert due < following
    last = plan.last_due(due, node)
    assert last == slot
    before = plan.last_due(due - timedelta(microseconds=1), node)
    assert before is not None
    assert plan.times.after(before) == slot
    assert slot_name(slot) == slot.strftime("%Y%m%dT%H%M%SZ")


def test_nodes_do_not_ask_at_the_same_moment() -> None:
    plan = Plan("lint", read("every 1h"), timedelta(minutes=10), timedelta(hours=1))
    slot = at("2026-11-30T03:00")
    dues = {plan.due(slot, f"node-{number}") for number in range(20)}
    assert len(dues) == 20
    assert max(dues) - min(dues) > timedelta(minutes=3)


@pytest.mark.parametrize(
    ("when", "moment", "before", "after"),
    [
        ("every 6h", "2026-11-30T07:00", "2026-11-30T06:00", "2026-11-30T12:00"),
        ("1d", "2026-11-30T07:00", "2026-11-30T00:00", "2026-12-01T00:00"),
        ("30 3 * * *", "2026-11-30T03:30", "2026-11-30T03:30", "2026-12-01T03:30"),
        ("0 5 * * 0", "2026-11-30T07:00", "2026-11-29T05:00", "2026-12-06T05:00"),
        ("0 5 * * 7", "2026-11-30T07:00", "2026-11-29T05:00", "2026-12-06T05:00"),
        ("0 5 * * mon-fri", "2026-11-29T07:00", "2026-11-27T05:00", "2026-11-30T05:00"),
        ("0 5 * * 1-5/2", "2026-12-01T07:00", "2026-11-30T05:00", "2026-12-02T05:00"),
        ("0 5 * * */3", "2026-12-01T07:00", "2026-11-29T05:00", "2026-12-02T05:00"),
        ("0 0 29 2 *", "2027-01-01T00:00", "2024-02-29T00:00", "2028-02-29T00:00"),
    ],
)
def test_times(when: str, moment: str, before: str, after: str) -> None:
    times = read(when)
    assert (times.until(at(moment)), times.after(at(moment))) == (at(before), at(after))


def test_what_is_missed_between_two_slots() -> None:
    plan = Plan("lint", read("every 1h"), timedelta(0), timedelta(hours=1))
    missed = list(plan.between(at("2026-11-30T01:00"), at("2026-11-30T04:00")))
    assert missed == [at("2026-11-30T02:00"), at("2026-11-30T03:00")]


def test_an_empty_time_never_comes() -> None:
    assert times_of("schedule.lint", "  ") is None


@pytest.mark.parametrize(
    "when",
    ["daily", "every", "every 0m", "every 5 fortnights", "99999w", "61 * * * *", "* * *", "0 5 * * 8", "0 5 * * 5-1",
     "0 5 * * 1/0", "0 0 31 2 *", "a b c d e"],
)  # fmt: skip
def test_what_is_no_time_is_named_with_a_way_out(when: str) -> None:
    with pytest.raises(ConfigError, match=r"schedule\.lint") as caught:
        times_of("schedule.lint", when)
    assert "every 6h" in caught.value.suggestion


def test_the_settings_name_the_jobs_and_each_may_have_its_own() -> None:
    own = {"calibrate_drift": JobSettings(timeout_s=5, jitter_s=0)}
    settings = ScheduleSettings(lint="", verify="", retention="", maintain="", episodes="", jobs=own, jitter_s=7)
    (plan,) = plans(settings)
    assert (plan.name, plan.jitter, plan.grace) == ("calibrate-drift", timedelta(0), timedelta(hours=1))
    assert settings.of("calibrate-drift", "timeout_s") == 5
    assert settings.of("lint", "timeout_s") == settings.timeout_s
    assert settings.names() >= {"lint", "verify", "retention", "calibrate-drift"}
    with pytest.raises(ValueError, match="no job polish; there are calibrate-drift"):
        ScheduleSettings(jobs={"polish": JobSettings()})
    with pytest.raises(ConfigError, match=r"schedule\.calibrate_drift 'often'"):
        plans(ScheduleSettings(calibrate_drift="often"))
