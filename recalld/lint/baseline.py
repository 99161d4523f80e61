"""Findings that an old repo has already: kept in a file, so that only new ones are told.

A finding is known by its file, code and words, not by its line: lines, and how many of something there are, move with
every edit.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from recalld.errors import UsageError
from recalld.model import Finding

VERSION = 2
_LINES = r"\blines? \d+(?:(?:, | and | to |-)\d+)*"
_SIZE = r"\b\d[\d.,]*(?= (?:lines?|bytes|characters|files|[KMG]?i?B)\b)"
_MOVING = re.compile(f"{_LINES}|{_SIZE}")

Key = tuple[str, str, str]
"""File, code, and the message without what moves."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Findings that a baseline does not have, how many it has, and those of it that no longer occur."""

    new: Sequence[Finding]
    known: int
    gone: Sequence[Key]


def key_of(finding: Finding) -> Key:
    """Return what a finding is known by."""
    return finding.path, finding.code, _MOVING.sub("#", finding.message)


def written(findings: Iterable[Finding]) -> str:
    """Return findings as the text of a baseline, in an order that makes small diffs."""
    counts = Counter(map(key_of, findings))
    rows = [{"path": p, "code": c, "message": m, "count": n} for (p, c, m), n in sorted(counts.items())]
    return json.dumps({"version": VERSION, "findings": rows}, indent=1, ensure_ascii=False) + "\n"


def read(text: str) -> Counter[Key]:
    """Read a baseline. Raises UsageError for what is none."""
    try:
        data = json.loads(text)
        if data["version"] != VERSION:
            raise ValueError(f"version {data['version']}")
        return Counter({(str(r["path"]), str(r["code"]), str(r["message"])): int(r["count"]) for r in data["findings"]})
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"it is no baseline of this version of recalld ({type(error).__name__}: {error})",
            suggestion="write a new one with --write-baseline",
        ) from error


def compare(findings: Iterable[Finding], baseline: Counter[Key]) -> Compared:
    """Sort findings out against a baseline; of several alike as many are known as it counts."""
    left = baseline.copy()
    new: list[Finding] = []
    known = 0
    for finding in findings:
        key = key_of(finding)
        if left[key] > 0:
            left[key] -= 1
            known += 1
        else:
            new.append(finding)
    return Compared(new, known, sorted(key for key, count in left.items() if count > 0))
