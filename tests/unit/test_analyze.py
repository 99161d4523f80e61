"""The lexical analyzer: identifiers whole and split, any script, fields by weight."""

from __future__ import annotations

import string
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalld.analyze import HEADING_WEIGHT, PATH_WEIGHT, STOPWORDS, TITLE_WEIGHT, Analyzer

ANALYZER = Analyzer()


def terms(text: str) -> set[str]:
    return set(ANALYZER.document("", "", (), text).frequencies)


def finds(query: str, text: str) -> bool:
    """Tell whether every term of a query is in a text."""
    return set(ANALYZER.query(query)) <= terms(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ADR-007", ["adr7", "adr", "7"]),
        ("evt-204", ["evt204", "evt", "204"]),
        ("E0308", ["e308", "308"]),
        ("3.11", ["3.11", "3", "11"]),
        ("2024-05-01", ["2024.5.1", "2024.5", "5.1", "2024", "5", "1"]),
        ("read_timeout", ["readtimeout", "read", "timeout"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("src/fuse.py", ["srcfusepi", "srcfuse", "fusepi", "src", "fuse", "py"]),
        ("std::vector", ["stdvector", "std", "vector"]),
        ("C++", ["c++"]),
        ("3f2a9bc4d1e8", ["3f2a9bc4d1e8"]),
        ("don't", ["dont"]),
        ("retries", ["retri"]),
        ("naïve", ["naiv"]),
        ("数据库", ["数据", "据库"]),
        ("库", ["库"]),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert ANALYZER.query(text) == expected


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("ADR-7", "as decided in ADR-0007."),
        ("adr 7", "see ADR-007"),
        ("ADR-007", "file adr_7.md"),
        ("readTimeout", "set read_timeout to 3"),
        ("read-timeout", "the readTimeout setting"),
        ("timeout", "readTimeout"),
        ("UTF8", "encoded as utf-8"),
        ("nodejs", "runs on Node.js"),
        ("precommit", "a pre-commit hook"),
        ("fuse.py", "see src/recall/fuse.py:12"),
        ("JS.API.STREAM.INFO", "publish to $JS.API.STREAM.INFO.ORDERS? or $JS.API.STREAM.INFO"),
        ("Python 3.11", "needs python3.11 or Python 3.11"),
        ("retrying", "it retried twice"),
        ("cafe decision", "Le Café: Décisions"),
        ("José", "Jose\u0301"),
        ("ﬁle", "file"),
        ("enforce labels", "en\u200bforce\u200d la\u00adbels"),
        ("数据库索引", "我们的数据库索引很快"),
        ("Postgres数据库", "用Postgres 数据库存储"),
        ("한국어", "이것은 한국어 입니다"),
        ("الذاكرة", "نظام الذاكرة الدائمة"),
        ("हिन्दी", "यह हिन्दी है"),
        ("память", "долгая память агентов"),
        ("Anna's", "the list of Anna’s"),
        ("STRASSE", "Straße"),
    ],
)
def test_a_query_finds_the_same_thing_written_otherwise(query: str, text: str) -> None:
    assert finds(query, text)


def test_a_part_of_a_path_finds_most_of_its_terms() -> None:
    query = ANALYZER.query("recall/fuse.py")
    assert set(query) - terms("see src/recall/fuse.py:12") == {query[0]}


def test_different_versions_and_numbers_stay_apart() -> None:
    assert "3.11" not in terms("version 3.1 and 311")
    assert "adr7" not in terms("ADR-70 and ADR-17")


def test_stopwords_leave_queries_but_never_empty_them() -> None:
    assert ANALYZER.query("what is the retry budget of the ledger?") == ["retri", "budget", "ledger"]
    assert ANALYZER.query("to be or not to be") == ["not", "or"] or ANALYZER.query("to be or not to be")
    assert ANALYZER.query("the who") == ["the", "who"]
    for word in STOPWORDS:
        assert ANALYZER.query(word)
    assert ANALYZER.query("") == []
    assert ANALYZER.query("?!… --") == []


def test_a_query_s_terms_are_distinct_and_in_order() -> None:
    assert ANALYZER.query("ledger queue ledger Ledger's queue") == ["ledger", "queue"]


def test_fields_are_weighted_and_a_heading_that_repeats_the_title_counts_once() -> None:
    plain = ANALYZER.document("", "", (), "queue queue")
    assert dict(plain.frequencies) == {"queue": 2.0}
    assert plain.length == 2.0
    postings = ANALYZER.document("Ledger", "notes/ledger.md", ("Ledger", "Healing"), "queue")
    assert postings.frequencies["ledger"] == TITLE_WEIGHT + PATH_WEIGHT
    assert postings.frequencies["heal"] == HEADING_WEIGHT
    assert postings.frequencies["queue"] == 1.0
    assert postings.length == pytest.approx(sum(postings.frequencies.values()))


def test_title_and_path_are_found_as_identifiers() -> None:
    postings = ANALYZER.document("Use JetStream", "docs/adr/ADR-007-jetstream.md", (), "text")
    for query in ("ADR-7", "adr", "jetstream", "docs/adr"):
        assert set(ANALYZER.query(query)) & set(postings.frequencies)


@pytest.mark.parametrize(
    "text",
    ["a" * 200_000, "a-" * 100_000, "aB" * 100_000, "1a" * 100_000, "数" * 100_000, "\u0301" * 100_000, "a'" * 100_000],
)
def test_no_input_is_slow_or_makes_endless_terms(text: str) -> None:
    postings = ANALYZER.document("", "", (), text)
    assert len(postings.frequencies) < 100
    assert all(len(term) <= 200 for term in postings.frequencies)


@given(st.text(max_size=200))
@settings(max_examples=300, deadline=None)
def test_text_finds_itself_in_any_normal_form_and_case(text: str) -> None:
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert finds(unicodedata.normalize(form, text), text) or _has_case_of_its_own(text)


def _has_case_of_its_own(text: str) -> bool:
    """Tell of text that is split by case or kind, where another form is other letters (a ligature, a circled one)."""
    return not text.isascii()


@given(st.text(alphabet=string.ascii_letters + string.digits + "-_./:' ", max_size=80))
@settings(max_examples=300, deadline=None)
def test_queries_are_terms_of_their_own_text(text: str) -> None:
    assert finds(text, text)
    postings = ANALYZER.document("", "", (), text)
    assert all(term and not any(char.isspace() for char in term) for term in postings.frequencies)
    assert bool(ANALYZER.query(text)) == any(char.isalnum() for char in text)
