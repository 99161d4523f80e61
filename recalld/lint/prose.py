"""What the text says and no key does: that the document is over.

Prose speaks of many things, and most of what it calls deprecated is software. So only words that are plainly about the
document count: "this document is superseded ...", or a line at its beginning that opens with the word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from recalld.ingest.parse import Reading
from recalld.lint.catalogue import found
from recalld.lint.memory import Memory, is_note, prose_of
from recalld.model import Finding
from recalld.trust.graph import CLAIMS, PROSE
from recalld.trust.names import stem_of
from recalld.trust.standing import Status

_BEGINNING = 30
"""Lines of text in which a bare word may be about the document itself."""
_INDEXES = frozenset(
    "index readme memory toc contents changelog history summary agents claude".split()  # noqa: SIM905
)
_WORDS = re.compile(r"(?i)supersede|replaced|deprecated|obsolete|no longer|outdated")
_ITSELF = re.compile(
    r"(?i)\bthis\s+(?:document|doc|note|memo|decision|page|adr|pep|rfc|record|guide|runbook|plan|spec|specification|"
    r"policy|proposal|file|memory|lesson|post)\s+(?:is|was|has\s+been)\s+(?:now\s+)?(?:fully\s+)?"
    r"(?:superseded|replaced\s+by|deprecated|obsolete[d]?\b|outdated|retired|no\s+longer\s+(?:valid|current|in\s+force))"
)
_OPENING = re.compile(
    r"(?i)^[\s>*_#\[(!|:-]*(?:(?:note|warning|update|status|important)\b[^:\n]{0,20}[*_\]]*:[\s*_]*)?"
    r"(?:(?:superseded|replaced|obsoleted)\s+by\s+\S|(?:deprecated|obsolete|superseded)\b[\s*_\])!.:,-]*"
    r"(?:$|\d{4}|see\b|in\s+favou?r\b|since\b|use\b))"
)


def closed_in_prose(memory: Memory) -> Iterator[Finding]:
    """Yield the documents whose text says that they are over while they would be served as valid."""
    for id_, reading in memory.prose():
        if not _WORDS.search(reading.lines.text) or _speaks_by_keys(memory, id_, reading):
            continue
        line = _closing_line(reading)
        if line is not None:
            said = " ".join(reading.lines.all[line - 1].split())[:80]
            yield found(
                "closed-in-prose",
                reading.document.path,
                f"its text says {said!r}, but no key does: it is still served",
                "write `superseded_by: NAME` or `status: deprecated` into the frontmatter",
                line=line,
            )


def _speaks_by_keys(memory: Memory, id_: int, reading: Reading) -> bool:
    path = reading.document.path
    if not is_note(path) or stem_of(PurePosixPath(path).name).casefold() in _INDEXES:
        return True
    standing = memory.graph.members[id_].standing
    declares = any(edge.kind in CLAIMS and edge.source != PROSE for edge in reading.document.edges)
    open_ = standing.status in (Status.NONE, Status.ADOPTED) and standing.valid_until is None
    return declares or not open_ or not memory.stands(id_)


def _closing_line(reading: Reading) -> int | None:
    beginning = max(reading.front.last, reading.last_header) + _BEGINNING
    for number, text in prose_of(reading):
        if _WORDS.search(text) and (_ITSELF.search(text) or (number <= beginning and _OPENING.match(text))):
            return number
    return None
