"""What was just told is not told again."""

from __future__ import annotations

from recalld.lessons.told import MOST, Told


def test_it_is_remembered_for_a_time() -> None:
    told = Told(10.0)
    assert not told.lately("a", 0.0)
    told.note("a", 0.0)
    assert told.lately("a", 9.9) and not told.lately("b", 9.9)
    assert not told.lately("a", 10.0)


def test_the_oldest_is_forgotten_first() -> None:
    told = Told(10.0)
    for number in range(MOST + 1):
        told.note(number, 0.0)
    told.note(1, 0.0)
    assert not told.lately(0, 1.0) and told.lately(1, 1.0) and told.lately(MOST, 1.0)
