"""Files of labelled questions: JSONL, a JSON list, or CSV with a head, each row with ``query`` and ``answerable``."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from recalld.errors import UsageError

_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_HINT = "each row needs `query` (text) and `answerable` (true or false)"
_NAMED = 5
"""Faults that the error names; a file that is no label file has one a line."""

Row = tuple[str, Any]
"""Where it stands ("line 3", "entry 2"), and what was read there."""


def read_labels(path: Path) -> list[dict[str, Any]]:
    """Return the questions of a file with their labels. Raises UsageError that names the rows that are none."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    labels, faults = [], []
    for place, value in _rows(path, text):
        fault = _fault(value)
        if fault:
            faults.append(f"{place}: {fault}")
        else:
            labels.append({"query": value["query"].strip(), "answerable": _truth(value["answerable"])})
    if faults:
        more = f" and {len(faults) - _NAMED} more" if len(faults) > _NAMED else ""
        raise UsageError(f"{path}: {'; '.join(faults[:_NAMED])}{more}", suggestion=_HINT)
    if not labels:
        raise UsageError(f"{path} has no questions", suggestion=_HINT)
    return labels


def _rows(path: Path, text: str) -> Iterator[Row]:
    if path.suffix.lower() == ".csv":
        reader = csv.DictReader(io.StringIO(text))
        return ((f"line {reader.line_num}", row) for row in reader)
    if text.lstrip().startswith("["):
        return ((f"entry {number}", value) for number, value in enumerate(_list(path, text), start=1))
    return ((f"line {number}", _value(line)) for number, line in enumerate(text.split("\n"), start=1) if line.strip())


def _list(path: Path, text: str) -> list[Any]:
    try:
        values = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{path} is no JSON: {error}", suggestion=_HINT) from error
    return values if isinstance(values, list) else [values]


def _value(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _fault(value: Any) -> str:
    """Say why a row is no labelled question; empty when it is one."""
    if not isinstance(value, Mapping):
        return "no JSON object"
    query = value.get("query")
    if not isinstance(query, str) or not query.strip():
        return "no query"
    return "" if _truth(value.get("answerable")) is not None else "answerable is neither true nor false"


def _truth(value: Any) -> bool | None:
    return value if isinstance(value, bool) else _WORDS.get(str(value).strip().lower())
