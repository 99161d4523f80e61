"""What is no answer, and what is one although it speaks of refusals, errors and filters."""

from __future__ import annotations

import pytest

from recalld.episodes.junk import junk

LOOP = "the queue drains and the queue fills and " * 12 + "so on."


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "it is empty"),
        (" \n…", "it is empty"),
        ("[1] [2]", "it is empty"),
        ("As an AI language model, I have no opinion.", "it speaks as a model"),
        ("I'm just an AI, so no.", "it speaks as a model"),
        ("I'm sorry, but I can't help with that.", "it refuses"),
        ("I’m sorry, that is not something I can discuss [1].", "it refuses"),
        ("I cannot answer that.", "it refuses"),
        ("Sure, one moment. I am unable to say.", "it refuses"),
        ("Unfortunately, I have no access to it.", "it refuses"),
        ("We are unable to assist with that request.", "it refuses"),
        ("My apologies.", "it refuses"),
        ("Blocked by the content policy filter.", "a safety filter spoke"),
        ("finish_reason: content_filter", "a safety filter spoke"),
        ("This was flagged as unsafe.", "a safety filter spoke"),
        ('{"error": {"message": "overloaded"}}', "it is an error"),
        ("<!DOCTYPE html><html>502</html>", "it is an error"),
        ("503 Service Unavailable", "it is an error"),
        ("HTTP 429: slow down", "it is an error"),
        ("Error: connection reset by peer", "it is an error"),
        ("Traceback (most recent call last): File x", "it is an error"),
        ("Internal Server Error", "it is an error"),
        ("Request timed out", "it is an error"),
        ("Rate limit exceeded, retry later", "it is an error"),
        ("I don't know.", "it says that it does not know"),
        ("There is no information on this in the passages [1].", "it says that it does not know"),
        ("No relevant passages were found.", "it says that it does not know"),
        ("No evidence", "it says that it does not know"),
        ("Not specified in the notes.", "it says that it does not know"),
        ("The provided context does not say [2].", "it says that it does not know"),
        ("N/A", "it says that it does not know"),
        ("null", "it says that it does not know"),
        ("The limit is {{ limit }}.", "it left a template unfilled"),
        ("<|im_end|> The limit is 9.", "it left a template unfilled"),
        (LOOP, "it repeats itself"),
        ("The ledger keeps every transfer and " * 8 + "the archive job of region number nine moves them to col" * 4
         + " and then", "it was cut off"),
    ],
)  # fmt: skip
def test_what_is_no_answer(answer: str, why: str) -> None:
    assert junk(answer) == why


@pytest.mark.parametrize(
    "answer",
    [
        "17",
        "Redis [1]",
        "No [1].",
        "Yes, it is [2].",
        "None of the services uses Redis [1].",
        "Nothing is retried [1].",
        "No results are cached for longer than 60 s [1].",
        "No evidence is kept after ninety days [2].",
        "Not found errors are shown as an empty page [1].".replace("Not found", "404"),
        "500 requests a minute [1].",
        "404 is answered where a page is gone [1].",
        "Timeouts are 30 s [1].",
        "Timeout: 30 s [3].",
        "Upstream calls are retried twice [1].",
        "Too many requests are answered with 429 [1].",
        "Service unavailable (503) is what clients see while it restarts [1].",
        "Error: is the prefix of every line that the linter prints [1].",
        "Messages that are flagged by the content policy filter go to a queue [2].",
        "The gateway turns content_filter into an empty reply [1].",
        "“I cannot recommend Redis for this” [1]",
        "“I'm sorry, as an AI I can't help with that” is what the bot says when it is offline [1].",
        "“500 requests a minute is the limit.” [1]\n- “I don't know who else uses it.” [2]",
        "The bot says that it is unable to take orders after six [1].",
        "Unknown agents are refused [1].",
        "An answer of “N/A” counts as missing [1].",
        "- Kafka [1]\n- Redis [2]\n- NATS [3]",
        "The assistant must never say that it does not know [1].",
    ],
)
def test_what_is_one(answer: str) -> None:
    assert junk(answer) == ""


def test_who_was_cut_off_did_not_answer() -> None:
    assert junk("The limit is 17 [1].", finished=False) == "it was cut off"
    assert junk("The limit is 17 [1].") == ""


def test_a_long_list_of_names_is_no_loop() -> None:
    names = "\n".join(f"- service-{number} of team {number % 7} [{number % 9 + 1}]" for number in range(60))
    assert junk(names) == ""
