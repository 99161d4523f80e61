"""The public question sets that retrieval is measured with, as documents and questions."""

from __future__ import annotations

import csv
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

DATA = Path(os.environ.get("RECALLD_BENCH_DATA", Path(__file__).parents[3] / "shared" / "data"))


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the paths that answer it, and where known the character spans in them that do."""

    id: str
    text: str
    gold: frozenset[str]
    spans: tuple[tuple[int, int], ...] = ()

    @property
    def half(self) -> str:
        """Return ``tune`` or ``held``: settings are chosen on the one half and judged on the other.

        The split is by a fixed hash of the id, so that no choice of questions can creep in.
        """
        return "tune" if hashlib.sha256(self.id.encode()).digest()[0] % 2 == 0 else "held"


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents by path, and the questions asked of them."""

    name: str
    documents: dict[str, bytes]
    questions: tuple[Question, ...]


def peps(data: Path = DATA) -> Corpus:
    """Return 654 Python Enhancement Proposals and the 44 questions that one of them answers."""
    folder = data / "peps"
    documents = {path.name: path.read_bytes() for path in sorted((folder / "docs").glob("*.md"))}
    questions = tuple(
        Question(row["id"], row["query"], frozenset(_renamed(name) for name in row["relevant_files"]))
        for row in json.loads((folder / "questions.json").read_text())
        if row["answerable"]
    )
    return Corpus("peps", documents, questions)


def peps_offtopic(data: Path = DATA) -> list[str]:
    """Return the 11 questions that no enhancement proposal answers."""
    rows = json.loads((data / "peps" / "questions.json").read_text())
    return [row["query"] for row in rows if not row["answerable"]]


def _renamed(name: str) -> str:
    return name.removesuffix(".rst") + ".md"


def docs_qa(data: Path = DATA) -> Corpus:
    """Return 232 sections of a product's documentation, each a file, and 100 questions with 1 to 3 gold sections."""
    folder = data / "docs-qa"
    sections = json.loads((folder / "anthropic_docs.json").read_text())
    paths = {row["chunk_link"]: _file_name(row["chunk_link"]) for row in sections}
    documents = {paths[row["chunk_link"]]: _section(row) for row in sections}
    questions = tuple(
        Question(row["id"], row["question"], frozenset(paths[link] for link in row["correct_chunks"] if link in paths))
        for row in json.loads((folder / "docs_evaluation_dataset.json").read_text())
    )
    return Corpus("docs-qa", documents, tuple(question for question in questions if question.gold))


def _file_name(link: str) -> str:
    return link.split("://", 1)[-1].split("/docs/", 1)[-1].replace("#", "/") + ".md"


def _section(row: dict[str, str]) -> bytes:
    body = row["text"].removeprefix(row["chunk_heading"]).strip()
    return f"# {row['chunk_heading']}\n\n{body}\n".encode()


def passages(data: Path = DATA) -> Corpus:
    """Return five long texts and 472 questions whose answers are known to the character."""
    folder = data / "chunking-eval"
    texts = {path.name: path.read_bytes() for path in sorted((folder / "corpora").glob("*.md"))}
    with (folder / "questions_df.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    questions = tuple(
        Question(
            f"{row['corpus_id']}-{number}",
            row["question"],
            frozenset([f"{row['corpus_id']}.md"]),
            tuple((part["start_index"], part["end_index"]) for part in json.loads(row["references"])),
        )
        for number, row in enumerate(rows)
    )
    return Corpus("passages", texts, questions)
