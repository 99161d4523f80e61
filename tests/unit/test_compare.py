"""Two memos side by side, by their words."""

from __future__ import annotations

import pytest

from recalld.trust.compare import contradictions, repeated_share, shared_matter


@pytest.mark.parametrize(
    ("ours", "theirs", "differs"),
    [
        (
            "Each client may send 300 requests a minute.",
            "Each API client may send 90 requests per minute.",
            "300 here, 90 there",
        ),
        (
            "Enable two-factor login for harbour masters.",
            "Disable two-factor login for harbour masters.",
            "one says not",
        ),
        ("Bookings are not stored in harbour time.", "All bookings are stored in harbour time.", "one says not"),
        (
            "We use Postgres 16 for the ledger database.",
            "- We use Postgres 14 for the ledger database",
            "16 here, 14 there",
        ),
    ],
)
def test_contradictions(ours: str, theirs: str, differs: str) -> None:
    [found] = contradictions(f"# A title\n\n{ours}\n", f"Something else entirely.\n\n{theirs}\n")
    assert found.differs == differs


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("Each API client may send 90 requests a minute.", "Each API client may send 90 requests per minute."),
        ("Kelp grows in cold water near 12 piers.", "The price list has 7 columns for berths."),
        ("It is never too late to restore a backup nightly.", "Background mails are sent by workers."),
        ("", "Anything."),
    ],
)
def test_no_contradiction(ours: str, theirs: str) -> None:
    assert list(contradictions(ours, theirs)) == []


def test_repetition() -> None:
    text = "Background jobs live in a Postgres table and workers take them with skip locked."
    assert repeated_share(text, f"Preface. {text} And more words follow here.") == 1.0
    assert repeated_share(text, "Kelp grows in the harbour when the water is cold enough.") == 0.0
    assert repeated_share("two words", text) == 0.0


def test_matter() -> None:
    assert shared_matter("Rate limit for clients", "The rate limits of API clients") == 1.0
    assert shared_matter("Rate limit", "Deploy freeze") == 0.0
    assert shared_matter("", "Deploy freeze") == 0.0
