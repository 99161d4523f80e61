"""Importers: public question sets and users' tables, brought into documents and tasks."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath

from recalld.errors import NotFoundError, RefusedError, UsageError
from recalld.evaluate.tasks import Task, write_tasks


@dataclass(frozen=True, slots=True)
class Document:
    """A file to write. ``at`` is when it was last changed, where that is known."""

    text: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """Documents by path, tasks about them, and what the user should know of how they were read."""

    documents: Mapping[str, Document]
    tasks: list[Task]
    notes: list[str] = field(default_factory=list)


Importer = Callable[[Path], Imported]


def importers() -> dict[str, Importer]:
    """Return the importers by the name of what they read."""
    from recalld.evaluate.importers import beir, locomo, peps, spans, squad, statebench, table

    modules = (beir, locomo, peps, spans, squad, statebench, table)
    return {module.__name__.rsplit(".", 1)[-1].replace("table", "csv"): module.read for module in modules}


def import_from(kind: str, source: Path) -> Imported:
    """Read a question set. Raises UsageError for an unknown kind or files that are not of it, NotFoundError."""
    known = importers()
    if kind not in known:
        raise UsageError(f"there is no importer {kind!r}", suggestion=f"there are {', '.join(known)}")
    if not source.exists():
        raise NotFoundError(f"there is no {source}")
    try:
        found = known[kind](source)
    except OSError as error:
        raise UsageError(f"{source} is not {kind}: {error.filename}: {error.strerror}") from error
    except (KeyError, ValueError, TypeError, AttributeError, IndexError) as error:
        raise UsageError(f"{source} is not {kind}: {type(error).__name__}: {error}") from error
    if not found.tasks:
        raise UsageError(f"{source} has no questions")
    return found


def write(found: Imported, folder: Path) -> None:
    """Write ``tasks.jsonl`` and ``documents/`` into a folder that is not there yet or empty. Raises RefusedError."""
    if folder.exists() and any(folder.iterdir()):
        raise RefusedError(f"{folder} is not empty", suggestion="name a folder that is not there yet")
    folder.mkdir(parents=True, exist_ok=True)
    for path, document in found.documents.items():
        _checked(path)
        target = folder / "documents" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(document.text, "utf-8")
        if document.at is not None:
            os.utime(target, (document.at.timestamp(), document.at.timestamp()))
    write_tasks(folder / "tasks.jsonl", found.tasks)


def file_name(text: str) -> str:
    """Return a name that a file may have, out of an id; different ids of the usual kinds keep different names."""
    kept = "".join(c if c.isalnum() or c in "-_." else "-" for c in text).strip("-.")
    return kept[:120] or "unnamed"


def _checked(path: str) -> None:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts:
        raise UsageError(f"a document cannot have the path {path!r}")
