"""Whether answers stand on what they cite."""

from __future__ import annotations

import pytest

from recalld.episodes.citing import check

PASSAGES = {
    1: "[1] memory:limits.md:1-4 · Limits · holds\nEach client may send ninety requests a minute. Bursts go to 120.",
    2: "[2] memory:bus.md:1-9 · Bus · holds\nWe left Kafka for NATS in 2023, as operating it took two people.",
    3: "[3] memory:keys.md:1-2 · holds\nKeys are rotated by Alice on the first Monday of a month.",
}


@pytest.mark.parametrize(
    ("answer", "cited"),
    [
        ("Each client may send ninety requests a minute [1].", (1,)),
        ("Each client may send ninety requests a minute. [1]", (1,)),
        ("We left Kafka for NATS in 2023.[2] Keys are rotated by Alice.[3]", (2, 3)),
        ("Clients send ninety requests a minute, and we left Kafka for NATS [1, 2].", (1, 2)),
        ("Clients send ninety requests a minute, and we left Kafka for NATS [2][1].", (2, 1)),
        ("“Bursts go to 120.” [1]", (1,)),
        ("- “Bursts go to 120.” [1]\n- “We left Kafka for NATS in 2023” [2]", (1, 2)),
        ("“Each client may send […] requests a minute.” [1]", (1,)),
        ("It says: “we LEFT kafka, for nats” [2].", (2,)),
        ("Yes [3].", (3,)),
        ("They are rotated. Alice does it on the first Monday [3].", (3,)),
        ("Keys are rotated by Alice [3]. That is on the first Monday.", (3,)),
        ("“Bursts go to 120.”[1] “We left Kafka for NATS in 2023.” [2].", (1, 2)),
        ("The memory has this as turned down: “Bursts go to 120.” [1]", (1,)),
        ("In short: keys are rotated by Alice on Mondays [3].", (3,)),
    ],
)
def test_what_stands(answer: str, cited: tuple[int, ...]) -> None:
    checked = check(answer, PASSAGES)
    assert (checked.faults, checked.cited, checked.stands) == ((), cited, True)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ("", "it cites nothing"),
        ("Each client may send ninety requests a minute.", "it cites nothing"),
        ("Keys are rotated by Alice [4].", "[4] is no passage"),
        ("Keys are rotated by Alice [3, 9].", "[9] is no passage"),
        ("Keys are rotated by Alice [0].", "[0] is no passage"),
        ("“Bursts go to 150.” [1]", "is not in what it cites"),
        ("“Each client may never send requests” [1]", "the quote"),
        ("“Bursts go to 120.” [2]", "the quote"),
        ("Each client may send 95 requests a minute [1].", "the number 95"),
        ("We left Kafka for NATS in 2024 [2].", "the number 2024"),
        ("We left Kafka for NATS as three people ran it [2].", "the number 3"),
        ("The limit is 500. Keys are rotated by Alice [3].", "the number 500"),
        ("Keys are rotated by Alice [3]. There are 14 of them.", "the number 14"),
        ("“Keys are kept in a vault. They are rotated by Alice.” [3]", "the quote"),
        ("- “Bursts go to 150.” [1]\n- “We left Kafka for NATS in 2023” [2]", "the quote"),
        ("Pelicans nest beside the harbour wall and fish there: “Bursts go to 120.” [1]", "does not speak of it"),
        ("Pelicans nest beside the harbour wall [2].", "does not speak of it"),
        ("Each client may send ninety requests a minute [2].", ""),
    ],
)
def test_what_does_not(answer: str, fault: str) -> None:
    checked = check(answer, PASSAGES)
    assert not checked.stands
    assert any(fault in each for each in checked.faults)


def test_one_false_claim_among_true_ones_is_a_fault_and_what_holds_stays_cited() -> None:
    checked = check("Bursts go to 120 [1]. We left Kafka for NATS in 1999 [2].", PASSAGES)
    assert (checked.cited, checked.stands) == ((1,), False)
    assert len(checked.faults) == 1


def test_a_number_in_a_marker_is_no_number_of_the_claim() -> None:
    assert check("Keys are rotated by Alice [3].", {3: "Keys are rotated by Alice."}).stands
