"""BEIR-style folders: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/*.tsv`` (Thakur et al., 2021).

Every query that is judged is a task; its gold are the documents with a score above zero.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from recalld.evaluate.importers import Document, Imported, file_name
from recalld.evaluate.tasks import Gold, Task

_PREFERRED = ("test", "dev", "train")


def read(source: Path) -> Imported:
    """Read such a folder, with the judgements of its ``test`` split, or the first one that there is."""
    paths: dict[str, str] = {}
    documents: dict[str, Document] = {}
    for row in _rows(source / "corpus.jsonl"):
        path = f"{file_name(row['_id'])}.md"
        while path in documents:
            path = f"{path.removesuffix('.md')}_.md"
        paths[row["_id"]] = path
        documents[path] = Document(f"# {row['title']}\n\n{row['text']}\n" if row.get("title") else f"{row['text']}\n")
    judged, split = _judgements(source / "qrels")
    queries = {row["_id"]: row["text"] for row in _rows(source / "queries.jsonl")}
    tasks = [
        Task(id=id_, query=queries[id_], gold=tuple(Gold(path=paths[one]) for one in gold if one in paths))
        for id_, gold in judged.items()
        if any(one in paths for one in gold)
    ]
    notes = [f"judgements of {split}"]
    if len(tasks) < len(judged):
        notes.append(f"{len(judged) - len(tasks)} queries have no relevant document in the corpus and were left out")
    return Imported(documents, tasks, notes)


def _judgements(folder: Path) -> tuple[dict[str, list[str]], str]:
    files = {path.stem: path for path in sorted(folder.glob("*.tsv"))}
    if not files:
        raise FileNotFoundError(2, "no judgements", str(folder / "*.tsv"))
    split = next((name for name in _PREFERRED if name in files), next(iter(files)))
    judged: dict[str, list[str]] = {}
    with files[split].open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if int(row["score"]) > 0:
                judged.setdefault(row["query-id"], []).append(row["corpus-id"])
    return judged, split


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from (json.loads(line) for line in file if line.strip())
