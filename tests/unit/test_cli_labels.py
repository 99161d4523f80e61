from pathlib import Path

import pytest

from recalld.cli.labels import read_labels
from recalld.errors import UsageError

WANTED = [{"query": "why nats", "answerable": True}, {"query": "how old is a yew", "answerable": False}]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", '{"query": "why nats", "answerable": true}\n\n{"query": " how old is a yew ", "answerable": 0}\n'),
        ("a.json", '[{"query": "why nats", "answerable": true},\n {"query": "how old is a yew", "answerable": 0}]'),
        ("a.csv", "query,answerable,note\nwhy nats,yes,\nhow old is a yew,False,x\n"),
        ("bom.csv", "\ufeffquery,answerable\nwhy nats,1\nhow old is a yew,no\n"),
    ],
)  # fmt: skip
def test_three_forms_say_the_same(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert read_labels(tmp_path / name) == WANTED


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("a.jsonl", '{"query": "q", "answerable": true}\nnonsense\n', "line 2: no JSON object"),
        ("a.jsonl", '{"query": "q", "answerable": true}\n{"query": "", "answerable": true}\n', "line 2: no query"),
        ("a.jsonl", '\n{"query": "q"}\n', "line 2: answerable is neither true nor false"),
        ("a.json", '[{"query": "q", "answerable": "maybe"}]', "entry 1: answerable is neither"),
        ("a.csv", "query,answerable\nfine,yes\nodd,perhaps\n", "line 3: answerable is neither"),
        ("a.csv", "question,label\nfine,yes\n", "line 2: no query"),
        ("a.json", "[{]", "is no JSON"),
        ("a.jsonl", "\n", "has no questions"),
    ],
)
def test_rows_that_are_none_are_named(tmp_path: Path, name: str, text: str, fault: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=fault) as error:
        read_labels(tmp_path / name)
    assert error.value.suggestion


def test_a_file_full_of_faults_names_the_first_ones(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("x\n" * 20)
    with pytest.raises(UsageError, match="line 5: no JSON object and 15 more"):
        read_labels(tmp_path / "a.jsonl")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.csv"):
        read_labels(tmp_path / "none.csv")
