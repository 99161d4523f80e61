"""Findings that an old repo has already: kept in a file, so that only new ones are told.

A finding is known by its file, code and words with the numbers taken out, not by its line, which moves with every edit.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from recalld.errors import UsageError
from recalld.model import Finding

VERSION = 1
_NUMBERS = re.compile(r"\d+")

Key = tuple[str, str, str]
"""File, code, and the message without its numbers."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Findings that a baseline does not have, how many it has, and those of it that no longer occur."""

    new: Sequence[Finding]
    known: int
    gone: Sequence[Key]


def key_of(finding: Finding) -> Key:
    """Return what a finding is known by."""
    return finding.path, finding.code, _NUMBERS.sub("#", finding.message)


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
        raise UsageError(f"this is no baseline: {error}", suggestion="write one with --write-baseline") from error


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
