"""Chunking evaluations: ``corpora/*.md`` and ``questions_df.csv``, whose questions name the characters that answer them
(Smith and Troynikov, Evaluating Chunking Strategies for Retrieval, 2024)."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from recalld.evaluate.importers import Document, Imported
from recalld.evaluate.tasks import Gold, Task


def read(source: Path) -> Imported:
    """Read such a folder."""
    documents = {
        path.name: Document(path.read_bytes().decode("utf-8")) for path in sorted((source / "corpora").glob("*.md"))
    }
    with (source / "questions_df.csv").open(encoding="utf-8", newline="") as file:
        tasks = [_task(row, number) for number, row in enumerate(csv.DictReader(file))]
    return Imported(documents, tasks)


def _task(row: dict[str, str], number: int) -> Task:
    path = f"{row['corpus_id']}.md"
    gold = tuple(
        Gold(path=path, span=(part["start_index"], part["end_index"])) for part in json.loads(row["references"])
    )
    return Task(id=f"{row['corpus_id']}-{number}", query=row["question"], gold=gold, category=row["corpus_id"])
