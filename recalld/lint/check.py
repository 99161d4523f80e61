"""All rules over one memory, and the order in which findings are told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from recalld.lint import duplicates, lessons, links, prose, shape, siblings, supersession
from recalld.lint.memory import Memory
from recalld.lint.secrets import secrets
from recalld.model import Finding, Severity

Rule = Callable[[Memory], Iterator[Finding]]
RULES: tuple[Rule, ...] = (
    supersession.unresolved,
    supersession.circles,
    supersession.one_sided,
    supersession.status_accepted,
    supersession.without_effect,
    siblings.siblings,
    prose.closed_in_prose,
    duplicates.duplicate_ids,
    duplicates.near_superseded,
    links.broken,
    lessons.orphans,
    shape.empty,
    shape.almost_frontmatter,
)
_ORDER = (Severity.ERROR, Severity.WARNING, Severity.NOTE)


def check(memory: Memory, *, with_secrets: bool = True) -> Iterator[Finding]:
    """Yield what the rules find in a memory, in no order."""
    for rule in RULES:
        yield from rule(memory)
    if with_secrets:
        for reading in memory.readings:
            yield from secrets(reading.document.path, reading.lines.text)


def ordered(findings: Iterable[Finding], least: Severity = Severity.NOTE) -> list[Finding]:
    """Return the findings of at least a severity: errors first, then by file, line and code."""
    rank = _ORDER.index
    kept = (finding for finding in findings if rank(finding.severity) <= rank(least))
    return sorted(kept, key=lambda each: (rank(each.severity), each.path, each.line or 0, each.code, each.message))
