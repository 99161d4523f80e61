"""Findings: by severity and file, and how many there are of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from recalld.bus import wire
from recalld.model import Severity
from recalld_tui.model.text import counted

GRAVITY = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


def ordered(findings: Iterable[wire.FindingView], text: str = "") -> list[wire.FindingView]:
    """Return findings that have all words of a text, gravest first, then by place."""
    words = text.lower().split()
    found = [each for each in findings if all(word in _said(each) for word in words)]
    return sorted(found, key=lambda each: (GRAVITY[each.severity], each.repo, each.path, each.line or 0, each.code))


def _said(finding: wire.FindingView) -> str:
    return f"{finding.severity} {finding.code} {finding.repo}:{finding.path} {finding.message}".lower()


def tally(findings: Sequence[wire.FindingView]) -> str:
    """Return how many there are of each severity."""
    counts = Counter(each.severity for each in findings)
    return (
        ", ".join(counted(counts[each], str(each)) for each in GRAVITY if counts[each]) or "nothing to complain about"
    )
