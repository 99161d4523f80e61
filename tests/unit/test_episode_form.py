"""What questions ask for: the kind, and one thing or all of a kind."""

from __future__ import annotations

import pytest

from recalld.episodes.form import Form, Scope, form_of, plain

SINGLE = {
    "why": (
        "Why did we leave Kafka?",
        "how come sessions end at midnight",
        "What is the reason for the freeze?",
        "what made us choose NATS",
        "Explain why the cache is cold after a deploy",
        "The reason for the second queue?",
    ),
    "how long": (
        "How long do sessions last?",
        "what is the retention of backups",
        "For how long is a booking held?",
    ),
    "how often": ("How often is the index rebuilt?", "at what interval do heartbeats go out"),
    "how many": ("How many replicas do we run?", "what is the number of workers", "How much memory may a job take?"),
    "how much": ("How big may an upload be?", "how fast must a search answer"),
    "when": (
        "When is the freeze?",
        "What time does the backup run?",
        "what is the deadline for the audit",
        "which day",
    ),
    "where": ("Where are backups kept?", "which directory holds the logs", "In what folder do exports land?"),
    "who": ("Who owns billing?", "Whose job is the rotation?", "whom do I ask for access", "which person approves it"),
    "how": (
        "How do I rotate a key?",
        "What is the procedure for a restore?",
        "what should I do to get access",
        "Tell me how invoices are sent",
    ),
    "what": (
        "What is the session limit?",
        "Which broker do we use?",
        "what does the linter check",
        "What happens when a job fails?",
        "Which status has decision 4?",
        "which bus is used",
        "which queue sends mails",
        "Which job runs backups and keeps logs?",
    ),
    "yes or no": (
        "Do we use Redis?",
        "Is the cache shared?",
        "Can a guest book a berth?",
        "does it retry, or not",
        "Should I squash commits?",
    ),
}
SET = (
    "Which queues do we have?",
    "What are the rules for deploys?",
    "List all services",
    "list the owners of billing",
    "What services use Redis?",
    "Which background jobs do we run at night?",
    "name all brokers",
    "Show me the settings of the cache",
    "What are our deploy rules",
    "Give me every decision on logging",
    "which message brokers are in use?",
    "Which background jobs run at night?",
    "Which two teams still use Kafka?",
    "Tell me all reasons",
)


@pytest.mark.parametrize(("asks", "question"), [(asks, one) for asks, many in SINGLE.items() for one in many])
def test_one_thing_is_asked_for(asks: str, question: str) -> None:
    assert form_of(question) == Form(asks, Scope.SINGLE)


@pytest.mark.parametrize("question", SET)
def test_a_list_is_asked_for(question: str) -> None:
    assert form_of(question).scope is Scope.SET


@pytest.mark.parametrize("question", ["", "?", " \n", "limits", "\x00", "日本語", "é" * 8_000, "what " * 1_600])
def test_anything_has_a_form(question: str) -> None:
    assert form_of(question).asks


@pytest.mark.parametrize("question", [one for many in SINGLE.values() for one in many] + list(SET))
def test_case_spacing_and_curly_marks_do_not_count(question: str) -> None:
    assert form_of(f"  {question.upper()}  ".replace(" ", "  ").replace("'", "’")) == form_of(question)


def test_contractions_are_written_out() -> None:
    assert (
        plain("what's up, can't it? won’t it? doesn't w/o") == "what is up, can not it? will not it? does not without"
    )
