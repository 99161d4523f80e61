"""Moments on the command line."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from recalld.cli.times import moment
from recalld.errors import UsageError

NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-06-30", datetime(2026, 6, 30, tzinfo=UTC)),
        ("2026-06-30T14:00", datetime(2026, 6, 30, 14, tzinfo=UTC)),
        ("2026-06-30T14:00+02:00", datetime(2026, 6, 30, 14, tzinfo=timezone(timedelta(hours=2)))),
        (" 3d ", datetime(2026, 6, 28, 12, tzinfo=UTC)),
        ("90m", datetime(2026, 7, 1, 10, 30, tzinfo=UTC)),
        ("2w", datetime(2026, 6, 17, 12, tzinfo=UTC)),
    ],
)
def test_moments(text: str, expected: datetime) -> None:
    assert moment(text, NOW) == expected


def test_a_bare_date_is_inclusive_at_its_end() -> None:
    assert moment("2026-06-30", NOW, end_of_day=True) == datetime(2026, 6, 30, 23, 59, 59, 999_999, tzinfo=UTC)
    assert moment("2026-06-30T14:00", NOW, end_of_day=True) == datetime(2026, 6, 30, 14, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "soon", "30.06.2026", "2026-13-01", "3y", "99999999999d"])
def test_anything_else_is_wrong_usage(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        moment(text, NOW)
    assert caught.value.suggestion
