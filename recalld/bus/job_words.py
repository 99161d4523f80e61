"""What came of a job, in words: a result is counts, names and lists by name, whatever the job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NOTHING = "nothing to do"
_SAY_FOR_THEMSELVES = frozenset({"step", "reason", "error"})
"""Texts that are told without their names."""
_BY_NAME = frozenset({"repos", "faults"})
"""Tables whose rows have names that are told without the table's."""
_PLURALS = {"error": "errors", "warning": "warnings", "group": "groups"}


def in_words(result: Mapping[str, Any]) -> str:
    """Return a result as a line: what is zero or empty is left out, lists are counted."""
    return _joined(result) or NOTHING


def _joined(result: Mapping[str, Any]) -> str:
    return ", ".join(told for key, value in result.items() if (told := _told(key, value)))


def _told(key: str, value: object) -> str:
    name = key.replace("_", " ")
    if isinstance(value, bool):
        return name if value else f"not {name}"
    if not value:
        return ""
    if isinstance(value, Mapping):
        inner = _joined(value)
        return inner if key in _BY_NAME or not inner else f"{name} ({inner})"
    if isinstance(value, list | tuple):
        return _counted(len(value), name)
    if isinstance(value, int):
        return _counted(value, name)
    text = f"{value:.2f}" if isinstance(value, float) else " ".join(str(value).split())
    return text if key in _SAY_FOR_THEMSELVES else f"{name} {text}"


def _counted(count: int, name: str) -> str:
    if count == 1:
        return f"1 {name[:-1] if name.endswith('s') and not name.endswith('ss') else name}"
    return f"{count:,} {_PLURALS.get(name, name)}"
