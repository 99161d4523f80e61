"""Importers: what is made of small files in the formats of public question sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recalld.errors import NotFoundError, RefusedError, UsageError
from recalld.evaluate.importers import Imported, import_from, importers, write
from recalld.evaluate.tasks import Task, read_tasks


def read(kind: str, source: Path) -> tuple[Imported, dict[str, Task]]:
    found = import_from(kind, source)
    return found, {task.id: task for task in found.tasks}


def lines(path: Path, rows: list[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def test_csv(tmp_path: Path) -> None:
    source = tmp_path / "q.csv"
    source.write_text(
        "query,gold,answerable,as_of\n"
        "how many?,limits.md:3-5;b.md,,2024-05-01\n"
        "who feeds hedgehogs?,,,\n"
        "is Redis in use?,redis.md,yes,\n",
        "utf-8-sig",
    )
    found, tasks = read("csv", source)
    assert found.documents == {}
    assert [(gold.path, gold.lines) for gold in tasks["row-1"].gold] == [("limits.md", (3, 5)), ("b.md", None)]
    assert [task.answerable for task in found.tasks] == [True, False, True]
    assert tasks["row-1"].as_of is not None


def test_beir(tmp_path: Path) -> None:
    lines(tmp_path / "corpus.jsonl", [{"_id": "d/1", "title": "T", "text": "one"}, {"_id": "d_1", "text": "two"}])
    lines(tmp_path / "queries.jsonl", [{"_id": "q1", "text": "one?"}, {"_id": "q2", "text": "two?"}])
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td/1\t1\nq1\td_1\t0\nq2\tgone\t1\n")
    (tmp_path / "qrels/train.tsv").write_text("query-id\tcorpus-id\tscore\nq2\td_1\t1\n")
    found, tasks = read("beir", tmp_path)
    assert len(found.documents) == 2
    [path] = tasks["q1"].paths
    assert found.documents[path].text == "# T\n\none\n"
    assert "q2" not in tasks
    assert "1 queries have no relevant document" in found.notes[1]


def test_squad(tmp_path: Path) -> None:
    paragraphs = [
        {"context": "Zero.", "qas": []},
        {
            "context": "The limit is 90.",
            "qas": [
                {"id": "a", "question": "what is it?", "answers": [{"text": "90", "answer_start": 13}]},
                {"id": "b", "question": "and 300?", "is_impossible": True, "answers": []},
            ],
        },
    ]
    source = tmp_path / "squad.json"
    source.write_text(json.dumps({"data": [{"title": "Limits", "paragraphs": paragraphs}]}))
    found, tasks = read("squad", source)
    [(path, document)] = found.documents.items()
    start, end = tasks["a"].gold[0].span or (0, 0)
    assert (tasks["a"].gold[0].path, document.text[start:end]) == (path, "90")
    assert (tasks["b"].answerable, tasks["b"].gold) == (False, ())


def test_spans(tmp_path: Path) -> None:
    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora/wiki.md").write_text("The limit is 90.\n")
    reference = json.dumps([{"content": "90", "start_index": 13, "end_index": 15}]).replace('"', '""')
    (tmp_path / "questions_df.csv").write_text(f'question,references,corpus_id\nlimit?,"{reference}",wiki\n')
    _, tasks = read("spans", tmp_path)
    assert [(gold.path, gold.span) for gold in tasks["wiki-0"].gold] == [("wiki.md", (13, 15))]


def test_locomo(tmp_path: Path) -> None:
    conversation = {
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "Hi!"},
            {"speaker": "Bob", "dia_id": "D1:2", "text": "I went\nsailing.", "blip_caption": "a boat"},
        ],
    }
    qa = [
        {"question": "what did Bob do?", "evidence": ["D1:2"], "category": 4},
        {"question": "what did Ann do?", "evidence": ["D1:2"], "category": 5},
        {"question": "what if?", "evidence": [], "category": 3},
    ]
    source = tmp_path / "locomo.json"
    source.write_text(json.dumps([{"sample_id": "conv-1", "conversation": conversation, "qa": qa}]))
    found, tasks = read("locomo", source)
    [(path, document)] = found.documents.items()
    [gold] = tasks["conv-1-1"].gold
    assert gold.path == path
    assert gold.lines is not None
    assert document.text.split("\n")[gold.lines[0] - 1] == "Bob: I went sailing. [shows a boat]"
    assert document.at is not None
    assert (tasks["conv-1-1"].scope, tasks["conv-1-1"].unserved) == ("conv-1/*", "")
    assert "false premise" in tasks["conv-1-2"].unserved
    assert tasks["conv-1-3"].unserved
    assert found.notes == ["1 questions name no turn as evidence and are counted apart"]


def test_peps(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for number in (1, 2, 3, 4):
        (tmp_path / f"docs/pep-{number}.md").write_text(f"# {number}\n")
    rows = [
        {"id": "q", "query": "why?", "answerable": True, "relevant_files": ["pep-2.rst"]},
        {"id": "o", "query": "hedgehogs?", "answerable": False},
    ]
    (tmp_path / "questions.json").write_text(json.dumps(rows))
    edges = [
        {"old": "pep-1", "old_title": "One", "new": "pep-2", "new_status": "Superseded"},
        {"old": "pep-2", "old_title": "Two", "new": "pep-3", "new_status": "Final"},
        {"old": "pep-3", "old_title": "Three", "new": "pep-4", "new_status": "Rejected"},
    ]
    (tmp_path / "edges.json").write_text(json.dumps(edges))
    found, tasks = read("peps", tmp_path)
    assert tasks["q"].paths == {"pep-2.md"}
    assert not tasks["o"].answerable
    first = tasks["superseded-pep-1"]
    assert (first.query, first.paths, set(first.stale)) == ("One", {"pep-3.md"}, {"pep-1.md", "pep-2.md"})
    assert "superseded-pep-3" not in tasks
    assert found.notes[0].startswith("1 supersessions")


def test_statebench(tmp_path: Path) -> None:
    def event(hour: int, **fields: Any) -> dict[str, Any]:
        return {"ts": f"2024-01-01T{hour:02}:00:00", **fields}

    def fact(id_: str, value: str, **fields: Any) -> dict[str, Any]:
        return {"id": id_, "key": "limit", "value": value, "layer": "persistent_facts", **fields}

    truth = {"must_mention": ["300", "therefore"], "must_not_mention": ["90"]}
    timeline = {
        "id": "S1",
        "track": "supersession",
        "initial_state": {
            "environment": {"now": "2024-01-01T08:00:00"},
            "persistent_facts": [fact("F1", "The limit is 90.")],
            "working_set": [],
        },
        "events": [
            event(9, type="write", writes=[fact("F2", "The limit is 300.", supersedes="F1")]),
            event(10, type="query", prompt="what is the limit?", ground_truth=truth),
        ],
    }
    source = tmp_path / "bench.jsonl"
    lines(source, [timeline, {**timeline, "id": "S2", "track": "scope_leak"}])
    found, tasks = read("statebench", source)
    one, two = sorted(path for path in found.documents if path.startswith("S1/"))
    assert f"supersedes: {one}" in found.documents[two].text
    task = tasks["S1-1"]
    assert (task.paths, task.stale, task.required, task.forbidden) == ({two}, (one,), ("300",), ("90",))
    assert (task.category, task.unserved) == ("supersession", "")
    assert tasks["S2-1"].unserved
    assert found.notes == ["2 texts of 2 tasks stand in no fact and are not required"]


@pytest.mark.parametrize("kind", sorted(importers()))
def test_what_is_not_of_a_kind_is_named(kind: str, tmp_path: Path) -> None:
    source = tmp_path / "x"
    source.write_text('{"a": 1}\n')
    with pytest.raises(UsageError, match=f"is not {kind}"):
        import_from(kind, source)
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match=f"is not {kind}"):
        import_from(kind, tmp_path / "folder")
    with pytest.raises(NotFoundError):
        import_from(kind, tmp_path / "gone")
    with pytest.raises(UsageError, match="no importer"):
        import_from("parquet", source)


def test_writing_loses_nothing_and_stays_inside(tmp_path: Path) -> None:
    lines(tmp_path / "in/corpus.jsonl", [{"_id": "../../etc/passwd", "text": "one"}])
    lines(tmp_path / "in/queries.jsonl", [{"_id": "q", "text": "one?"}])
    (tmp_path / "in/qrels").mkdir()
    (tmp_path / "in/qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq\t../../etc/passwd\t1\n")
    found = import_from("beir", tmp_path / "in")
    write(found, tmp_path / "out")
    [task] = read_tasks(tmp_path / "out/tasks.jsonl")
    [path] = task.paths
    assert (tmp_path / "out/documents" / path).read_text() == "one\n"
    assert (tmp_path / "out/documents").resolve() in (tmp_path / "out/documents" / path).resolve().parents
    with pytest.raises(RefusedError, match="not empty"):
        write(found, tmp_path / "out")
