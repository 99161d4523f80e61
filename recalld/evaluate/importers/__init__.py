"""Importers: public question sets and users' tables, brought into documents and tasks."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from recalld.errors import ConfigError, NotFoundError, RefusedError, UsageError
from recalld.evaluate.tasks import Task, worded, write_tasks


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


_HINT = "docs/evaluate.md tells what each kind is made of"
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
        raise UsageError(f"{source} is not {kind}: {error.filename}: {error.strerror}", suggestion=_HINT) from error
    except ValidationError as error:
        raise UsageError(f"{source} is not {kind}: {worded(error)}", suggestion=_HINT) from error
    except KeyError as error:
        raise UsageError(f"{source} is not {kind}: it has no {error}", suggestion=_HINT) from error
    except (ValueError, TypeError, AttributeError, IndexError, csv.Error) as error:
        raise UsageError(f"{source} is not {kind}: {error}", suggestion=_HINT) from error
    if not found.tasks:
        raise UsageError(f"{source} has no questions", suggestion=_HINT)
    twice = [id_ for id_, count in Counter(task.id for task in found.tasks).items() if count > 1]
    if twice:
        raise UsageError(f"{source} has the id {twice[0]} twice", suggestion="give each question an id of its own")
    return found


def write(found: Imported, folder: Path) -> None:
    """Write ``tasks.jsonl`` and ``documents/`` into a folder that is not there yet or empty.

    Raises RefusedError, ConfigError where it cannot be written.
    """
    try:
        if folder.exists() and any(folder.iterdir()):
            raise RefusedError(f"{folder} is not empty", suggestion="name a folder that is not there yet")
        folder.mkdir(parents=True, exist_ok=True)
        for path, document in found.documents.items():
            _write(folder / "documents" / _checked(path), document)
        write_tasks(folder / "tasks.jsonl", found.tasks)
    except OSError as error:
        raise ConfigError(f"cannot write {folder}: {error.strerror}", suggestion="name another folder") from error


def _write(target: Path, document: Document) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(document.text, "utf-8")
    if document.at is not None:
        os.utime(target, (document.at.timestamp(), document.at.timestamp()))


def file_name(text: str) -> str:
    """Return a name that a file may have, out of an id; different ids of the usual kinds keep different names."""
    kept = "".join(c if c.isalnum() or c in "-_." else "-" for c in text).strip("-.")
    return kept[:120] or "unnamed"


def _checked(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts:
        raise UsageError(f"a document cannot have the path {path!r}")
    return path
