"""SQuAD 2 and what is made like it: articles of paragraphs, questions with the characters that answer them.

An article is a document, its paragraphs are set apart by empty lines. A question that is marked impossible was written
to look answerable by its paragraph (Rajpurkar et al., 2018): here it is one that the memory cannot know.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from recalld.evaluate.importers import Document, Imported, file_name
from recalld.evaluate.tasks import Gold, Task


def read(source: Path) -> Imported:
    """Read one JSON file."""
    documents: dict[str, Document] = {}
    tasks: list[Task] = []
    for number, article in enumerate(json.loads(source.read_text("utf-8"))["data"], start=1):
        path = f"{number:03}-{file_name(article.get('title') or 'article')}.md"
        text = ""
        for paragraph in article["paragraphs"]:
            tasks += [_task(row, path, len(text)) for row in paragraph["qas"]]
            text += f"{paragraph['context']}\n\n"
        documents[path] = Document(text)
    return Imported(documents, tasks)


def _task(row: dict[str, Any], path: str, offset: int) -> Task:
    if row.get("is_impossible"):
        return Task(id=row["id"], query=row["question"], answerable=False, category="impossible")
    places = dict.fromkeys((answer["answer_start"], len(answer["text"])) for answer in row["answers"])
    gold = tuple(Gold(path=path, span=(offset + start, offset + start + length)) for start, length in places)
    return Task(id=row["id"], query=row["question"], gold=gold, category="answerable")
