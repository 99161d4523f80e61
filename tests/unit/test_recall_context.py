"""What is left out of an answer because a better passage says it."""

from datetime import UTC, datetime

import pytest

from recalld.model import Position, StoredChunk
from recalld.recall.context import Context, repeated_hashes
from recalld.store.rows import ChunkOwner

AT = datetime(2026, 1, 2, tzinfo=UTC)
LONG = (
    "The ledger keeps every transfer for ninety days, after which the archive job moves it to cold storage by region."
)


def _chunk(
    number: int,
    text: str,
    *,
    document: int | None = None,
    lines: tuple[int, int] = (1, 1),
    title: str = "",
    heading: tuple[str, ...] = (),
) -> StoredChunk:
    return StoredChunk(
        id=number,
        document_id=document or number,
        repo="memory",
        path=f"{number}.md",
        title=title,
        kind="document",
        tags=(),
        heading=heading,
        lines=lines,
        text=text,
        hash=str(number),
        content_hash="",
        commit=None,
        agent="",
        position=Position(1, number),
        modified_at=None,
        indexed_at=AT,
        first_indexed_at=AT,
    )


def _kept(*chunks: StoredChunk) -> list[int]:
    context = Context(len(chunks))
    return [chunk.id for chunk in chunks if context.offer(chunk) is None]


@pytest.mark.parametrize(
    "copy",
    [
        LONG,
        LONG.upper(),
        LONG.replace(" ", "\n> ").replace(",", " --"),
        f"**{LONG}**",
        LONG.replace("ledger", "_ledger_"),
        LONG.removeprefix("The ledger keeps "),
    ],
)
def test_the_same_words_are_shown_once(copy: str) -> None:
    assert _kept(_chunk(1, LONG), _chunk(2, copy)) == [1]


def test_a_longer_text_is_no_repetition_of_its_part() -> None:
    assert _kept(_chunk(1, LONG), _chunk(2, f"{LONG} Europe stays for a year.")) == [1, 2]


def test_one_value_that_differs_is_shown_side_by_side() -> None:
    assert _kept(_chunk(1, LONG), _chunk(2, LONG.replace("ninety", "thirty"))) == [1, 2]


def test_a_word_is_no_part_of_a_longer_word() -> None:
    assert _kept(_chunk(1, f"{LONG} regional"), _chunk(2, LONG.replace("region", "regio"))) == [1, 2]


def test_few_words_mean_what_their_heading_says() -> None:
    accepted = _chunk(1, "Accepted.", title="ADR-1", heading=("Status",))
    other = _chunk(2, "Accepted.", title="ADR-2", heading=("Status",))
    copy = _chunk(3, "accepted", title="ADR-1", heading=("Status",))
    assert _kept(accepted, other, copy) == [1, 2]


def test_passages_without_words_are_not_all_the_same() -> None:
    assert _kept(_chunk(1, "---", title="A"), _chunk(2, "***", title="B")) == [1, 2]


def test_mostly_the_same_lines_of_one_document_are_shown_once() -> None:
    words = [f"w{number}" for number in range(60)]
    first = _chunk(1, " ".join(words[:40]), document=9, lines=(1, 4))
    overlapping = _chunk(2, " ".join(words[10:50]), document=9, lines=(2, 5))
    following = _chunk(3, " ".join(words[35:60]), document=9, lines=(4, 6))
    elsewhere = _chunk(4, " ".join(words[10:50]), document=8, lines=(2, 5))
    assert _kept(first, overlapping, following, elsewhere) == [1, 3, 4]


def test_a_repetition_takes_no_room_and_names_what_it_repeats() -> None:
    context = Context(2)
    assert context.offer(_chunk(1, LONG)) is None
    reason = context.offer(_chunk(2, LONG))
    assert (context.room, reason) == (1, "its words stand in 1")
    assert context.offer(_chunk(3, "another matter")) is None
    assert context.room == 0


def test_equal_hashes_name_the_better_chunk() -> None:
    owners = {number: ChunkOwner(number, 0, (1, 1), hash_) for number, hash_ in ((1, "a"), (2, "b"), (3, "a"))}
    assert repeated_hashes([2, 3, 1], owners) == {1: "same text as 3"}
