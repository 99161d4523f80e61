"""Plain CSV with a head: ``query``, and any of the other fields of a task. It brings no documents.

Lists (``gold``, ``stale``, ``required``, ``forbidden``) are separated by semicolons. A gold passage may name its lines:
``notes/a.md:12-20``. Without ``id`` the rows are numbered; without ``answerable`` those with gold are.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

from recalld.evaluate.importers import Imported
from recalld.evaluate.tasks import Task

_LISTS = ("stale", "required", "forbidden")
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_LINES = re.compile(r"(?P<path>.+):(?P<first>\d+)(?:-(?P<last>\d+))?")


def read(source: Path) -> Imported:
    """Read one file."""
    with source.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        if "query" not in (reader.fieldnames or ()):
            raise ValueError("it has no column `query`")
        tasks = [_task(row, number) for number, row in enumerate(reader, start=1)]
    return Imported({}, tasks)


def _task(row: dict[str, str], number: int) -> Task:
    given = {key: value.strip() for key, value in row.items() if key and value and value.strip()}
    fields: dict[str, Any] = {"id": f"row-{number}", **given}
    for name in _LISTS:
        fields[name] = _split(given.get(name, ""))
    fields["gold"] = [_gold(text) for text in _split(given.get("gold", ""))]
    said = given.get("answerable", "").lower()
    if said and said not in _TRUTH:
        raise ValueError(f"row {number}: answerable is {said!r}, neither true nor false")
    fields["answerable"] = _TRUTH[said] if said else bool(fields["gold"])
    return Task.model_validate(fields)


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(";") if part.strip()]


def _gold(text: str) -> dict[str, Any]:
    match = _LINES.fullmatch(text)
    if match is None:
        return {"path": text}
    first = int(match["first"])
    return {"path": match["path"], "lines": (first, int(match["last"] or first))}
