"""Task files: what is read, what is refused with its line, and what is doubtful about tasks that can be read."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from recalld.errors import UsageError
from recalld.evaluate.doubts import doubts
from recalld.evaluate.proposals import propose
from recalld.evaluate.tasks import Task, digest, read_tasks, schema, write_tasks
from tests.support.evaluating import corpus

FULL = {
    "id": "q1",
    "query": "how many requests?",
    "gold": ["a.md", {"path": "b.md", "lines": [2, 4]}],
    "stale": ["c.md"],
    "required": ["90"],
    "forbidden": ["300"],
    "as_of": "2024-07-15",
    "scope": "decisions/*",
    "category": "limits",
}
MEMORY = corpus(
    {
        "limits.md": "# Rate limits\n\nEach client may send ninety requests a minute to the harbour gateway.\n",
        "queue.md": "# Background jobs\n\nJobs live in a Postgres table since the Redis list forgot 212 mails.\n",
        "faq.md": "# Questions\n\n## Why did we leave Redis?\n\nBecause it forgot confirmation mails on a holiday.\n",
    }
)


def written(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "tasks.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    return path


def test_a_task_says_what_it_says(tmp_path: Path) -> None:
    [task] = read_tasks(written(tmp_path, "\ufeff" + json.dumps(FULL), "", "  "))
    assert task.paths == {"a.md", "b.md"}
    assert task.as_of == datetime(2024, 7, 15, tzinfo=UTC)
    again = tmp_path / "again.jsonl"
    write_tasks(again, [task])
    assert read_tasks(again) == [task]
    assert json.loads(again.read_text()).keys() == FULL.keys()


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{", "line 1: .*JSON"),
        ('{"id": "a"}', "line 1: query: Field required"),
        ('{"id": "a", "query": "b", "golden": []}', "line 1: golden"),
        ('{"id": "a", "question": "b"}', "query: Field required; question: Extra inputs"),
        ('{"id": " ", "query": "b"}', "line 1: id"),
        ('{"id": "a", "query": "b", "gold": [{"path": "c", "lines": [3, 1]}]}', "lines end before they begin"),
        ('{"id": "a", "query": "b", "as_of": "someday"}', "line 1: as_of"),
        ('{"id": "a", "query": "b"}\n{"id": "a", "query": "c"}', "line 2: the id a is that of line 1"),
        ("\n", "has no tasks"),
    ],
)
def test_what_is_no_task_is_named(tmp_path: Path, line: str, fault: str) -> None:
    with pytest.raises(UsageError, match=fault):
        read_tasks(written(tmp_path, line))


def test_paths_are_told_in_one_form() -> None:
    task = Task.model_validate({"id": "a", "query": "b", "gold": ["./a.md", "n//b.md"], "stale": ["./c.md"]})
    assert (task.paths, task.stale) == ({"a.md", "n/b.md"}, ("c.md",))


def test_halves_are_even_and_never_change() -> None:
    tasks = [Task(id=f"q{number}", query="?") for number in range(400)]
    tuned = sum(task.half == "tune" for task in tasks)
    assert 160 < tuned < 240
    assert [task.half for task in tasks[:6]] == ["tune", "report", "tune", "tune", "report", "tune"]
    assert Task(id="q0", query="?", split="tune").half == "tune"


def test_a_digest_is_of_the_tasks_in_any_order() -> None:
    one, two = Task(id="1", query="a"), Task(id="2", query="b")
    assert digest([one, two]) == digest([two, one]) != digest([one])


def test_the_schema_takes_what_is_read() -> None:
    jsonschema.validate(FULL, schema())
    for wrong in ({"id": "a"}, {**FULL, "golden": 1}, {**FULL, "gold": [7]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema())


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({}, "no-gold"),
        ({"gold": ["queue.md"], "answerable": False}, "evidence-against"),
        ({"gold": ["notes/limits.md"]}, "gold-missing"),
        ({"gold": ["limits.md"], "stale": ["old.md"]}, "stale-missing"),
        ({"gold": ["limits.md"], "stale": ["limits.md"]}, "stale-gold"),
        ({"gold": ["limits.md"], "scope": "decisions/*"}, "gold-out-of-scope"),
        ({"gold": [{"path": "limits.md", "lines": [1, 40]}]}, "place-missing"),
        ({"gold": [{"path": "limits.md", "span": [0, 4000]}]}, "place-missing"),
        ({"gold": ["limits.md"], "required": ["three hundred"]}, "required-missing"),
        ({"gold": ["limits.md"], "forbidden": ["NINETY"]}, "forbidden-gold"),
        ({"gold": ["limits.md"], "query": "how many requests may a client send now?"}, "no-date"),
        ({"gold": ["queue.md"], "query": "the background jobs"}, "title-leak"),
        ({"gold": ["queue.md"], "query": "who feeds hedgehogs?"}, "gold-unlike"),
        ({"answerable": False, "query": "client requests minute gateway harbour?"}, "maybe-answered"),
    ],
)
def test_what_is_doubtful_is_told(fields: dict[str, Any], code: str) -> None:
    task = Task.model_validate({"id": "t", "query": "how many requests may a client send?", **fields})
    assert code in [doubt.code for doubt in doubts([task], MEMORY)]


def test_a_good_task_raises_no_doubt() -> None:
    good = Task.model_validate({"id": "t", "query": "how many requests may a client send?", "gold": ["limits.md"]})
    unknown = Task(id="u", query="what do hedgehogs eat in winter?", answerable=False)
    dated = Task.model_validate({"id": "d", "query": "what is the limit of requests now?", "gold": ["limits.md"],
                                 "as_of": "2024-01-01"})  # fmt: skip
    assert doubts([good, unknown, dated], MEMORY) == []


def test_twins_are_told_and_errors_come_first() -> None:
    one = Task.model_validate({"id": "1", "query": "How many requests?", "gold": ["limits.md"]})
    same = one.model_copy(update={"id": "2", "query": "how many  requests?"})
    other = Task.model_validate({"id": "3", "query": "how many requests?", "gold": ["queue.md"]})
    found = doubts([one, same, other], MEMORY)
    assert [(doubt.task, doubt.code) for doubt in found if doubt.code.startswith("twins")] == [
        ("3", "twins-differ"),
        ("2", "twins"),
    ]


def test_proposals_ask_without_giving_the_answer_away() -> None:
    proposed = {one.task.gold[0].path: one for one in propose(MEMORY, random.Random(1))}
    assert proposed.keys() == MEMORY.files.keys()
    assert proposed["faq.md"].task.query == "Why did we leave Redis?"
    asked = proposed["limits.md"].task
    assert asked.query.count("...") == 1
    assert asked.gold[0].lines == (1, 3)
    assert proposed["limits.md"].place == "limits.md:1-3"
    known = [proposed["faq.md"].task]
    assert "faq.md" not in {one.task.gold[0].path for one in propose(MEMORY, random.Random(1), known)}
