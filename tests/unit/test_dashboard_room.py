"""Room in a table: who gives way to whom, and what is left of what is cut."""

from __future__ import annotations

import pytest
from rich.text import Text

from recalld_tui.model.room import LEAST, fitted, levelled, shared


@pytest.mark.parametrize(
    ("wanted", "room", "widths"),
    [
        ([5, 9, 30], 100, [5, 9, 30]),
        ([5, 30, 30], 45, [5, 20, 20]),
        ([30, 5, 30], 46, [20, 5, 21]),
        ([4, 4], 3, [1, 2]),
        ([4, 4], -5, [0, 0]),
        ([], 10, []),
    ],
)
def test_what_one_does_not_need_goes_to_the_others(wanted: list[int], room: int, widths: list[int]) -> None:
    assert levelled(wanted, room) == widths


@pytest.mark.parametrize(
    ("wanted", "elastic", "room", "widths"),
    [
        ([5, 40, 10], [False, True, False], 100, [5, 40, 10]),
        ([5, 40, 10], [False, True, False], 35, [5, 20, 10]),
        ([5, 40, 10, 12], [False, True, False, True], 40, [5, 13, 10, 12]),
        ([5, 40, 10, 30], [False, True, False, True], 45, [5, 15, 10, 15]),
        ([5, 40, 20], [False, True, False], 25, [5, LEAST, 12]),
        ([5, 3, 20], [False, True, False], 25, [5, 3, 17]),
        ([10, 10], [False, False], 12, [6, 6]),
        ([40, 40], [True, True], 0, [0, 0]),
    ],
)
def test_elastic_columns_share_what_fixed_ones_leave(
    wanted: list[int], elastic: list[bool], room: int, widths: list[int]
) -> None:
    assert shared(wanted, elastic, room) == widths


def test_widths_never_exceed_the_room_and_nobody_has_more_than_it_wants() -> None:
    wanted, elastic = [3, 25, 8, 60, 14], [False, True, False, True, False]
    for room in range(-3, 130):
        widths = shared(wanted, elastic, room)
        assert sum(widths) <= max(0, room)
        assert all(0 <= width <= want for width, want in zip(widths, wanted, strict=True))
        assert sum(widths) == min(max(0, room), sum(wanted)), "no column of the screen is left unused"


@pytest.mark.parametrize(
    ("text", "width", "tail", "shown"),
    [
        ("rules/guest-data.md", 19, True, "rules/guest-data.md"),
        ("rules/guest-data.md", 14, True, "…guest-data.md"),
        ("rules/guest-data.md", 14, False, "rules/guest-d…"),
        ("漢字/潮汐.md", 8, True, "…潮汐.md"),
        ("漢字/潮汐.md", 7, True, "…汐.md"),
        ("漢字漢字", 4, False, "漢 …"),
        ("anything", 1, True, "…"),
        ("anything", 0, True, ""),
    ],
)
def test_what_is_cut_says_so_and_fits_column_for_column(text: str, width: int, tail: bool, shown: str) -> None:
    cut = fitted(Text(text), width, tail=tail)
    assert cut.plain == shown and cut.cell_len <= width


def test_what_is_cut_keeps_its_styles_and_leaves_the_whole_as_it_was() -> None:
    whole = Text("done ", "green").append("runs 12, receipts 4", "dim")
    short = fitted(whole, 12, tail=True)
    assert short.plain == "… receipts 4" and short.style == "green"
    assert any(span.style == "dim" for span in short.spans)
    assert fitted(whole, 10).plain == "done runs…" and whole.plain == "done runs 12, receipts 4"
