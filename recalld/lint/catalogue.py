"""Every code that a finding may have: its usual severity, what it means and what to do about it. Codes are stable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from recalld.model import Finding, Severity


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of fault. A finding's own message and hint are more exact than ``meaning`` and ``fix``."""

    name: str
    severity: Severity
    meaning: str
    fix: str


def _codes(severity: Severity, *rows: tuple[str, str, str]) -> Mapping[str, Code]:
    return {name: Code(name, severity, meaning, fix) for name, meaning, fix in rows}


_ERRORS = _codes(
    Severity.ERROR,
    ("unreadable-file", "the file or directory cannot be read, or is binary", "let it be read, or exclude it"),
    ("invalid-date", "a date of validity is no date (any other date that does not exist: a warning)", "2026-05-31"),
    ("validity-empty", "valid_from is after valid_until: never valid", "swap or correct the dates"),
    ("self-supersedes", "a document says that it replaced itself", "name the other document"),
    ("dangling-supersedes", "no document is called what supersedes or superseded_by names", "correct the name"),
    ("ambiguous-supersedes", "several documents are called what a claim names", "write the path"),
    ("supersession-cycle", "documents replace each other in a circle", "remove one of the claims"),
    ("duplicate-id", "two documents declare one id", "give one of them another id"),
    ("secret", "a key, token or password stands in the text", "revoke it and take it out"),
    ("frontmatter-broken", "the frontmatter is no YAML or TOML; it was read as far as it goes", "quote the values"),
    ("frontmatter-tag", "a YAML tag stands in the frontmatter", "write the value without the tag"),
    ("frontmatter-too-complex", "aliases or deep nesting in the frontmatter", "write the values out"),
    ("frontmatter-too-large", "the frontmatter is too large to be read whole", "move most of it into the text"),
)
_WARNINGS = _codes(
    Severity.WARNING,
    ("one-sided-supersession", "one of two documents says that the one replaced the other", "say it in both"),
    ("superseded-status-accepted", "a replaced document's status says that it holds", "status: superseded"),
    ("version-sibling-unlinked", "x_v1 and x_v2 lie side by side and nobody replaced the older", "supersedes: x_v1"),
    ("closed-in-prose", "the text says that the document is over, and no key does", "superseded_by or status"),
    ("unadopted-supersedes", "a proposed or rejected document says that it replaced one: no effect", "accept it"),
    ("near-duplicate-of-superseded", "a document that holds says nearly what a replaced one says", "retire it, too"),
    ("orphan-lesson", "a lesson without a title, or whose source is gone", "give it a title, name a source"),
    ("broken-link", "a link leads to no file", "correct the link"),
    ("oversized-file", "the file is too large to be read and is not searchable", "split it"),
    ("empty-file", "there is nothing in the file", "write it, or delete it"),
    ("frontmatter-almost", "lines that look like frontmatter but are read as text", "--- alone on line 1 and below"),
    ("frontmatter-unclosed", "frontmatter that nothing closes: all of it is read as text", "close it with ---"),
    ("frontmatter-duplicate-key", "a key stands twice; the last one counts", "keep one"),
    ("frontmatter-key", "a key is no text", "quote it"),
    ("edge-unclear", "supersedes is neither a name nor a list of names", "write one name, or a list"),
    ("fence-unclosed", "a code fence is never closed: the rest is code", "close it"),
    ("encoding-damaged", "some bytes are no text in the file's encoding", "save it as UTF-8"),
    ("encoding-guessed", "the file is no UTF-8; its encoding was guessed", "save it as UTF-8"),
    ("nul-bytes", "NUL bytes were left out", "save it as plain text"),
    ("rst-too-large", "reStructuredText too large to be taken apart", "split it"),
    ("rst-unreadable", "reStructuredText that cannot be taken apart", "correct the markup"),
    ("source-unreadable", "source code that cannot be taken apart", "correct the syntax"),
    ("name-not-utf8", "the file's name is not UTF-8", "rename it"),
    ("special-file", "a pipe, socket or device", "exclude it"),
    ("symlink-escape", "a link that leads out of the repo", "copy the file"),
    ("symlink-loop", "a link that leads back above itself", "remove it"),
    ("probable-supersession", "two decisions are near, and neither names the other (--semantic)", "supersedes:"),
)
_NOTES = _codes(
    Severity.NOTE,
    ("partial-supersession", "a part of a document was replaced: nothing is hidden", "nothing, if that is meant"),
    ("frontmatter-late", "blank lines stand before the frontmatter", "move it to line 1"),
    ("placeholder-date", "a date is still its template's", "write the date"),
    ("symlink-broken", "a symbolic link to nothing", "remove or repair it"),
)
CODES: Mapping[str, Code] = {**_ERRORS, **_WARNINGS, **_NOTES}


def found(
    code: str, path: str, message: str, hint: str = "", *, line: int | None = None, key: str | None = None
) -> Finding:
    """Return a finding of a code's usual severity; without ``hint`` its usual fix."""
    known = CODES[code]
    return Finding("", path, code, known.severity, message, hint or known.fix, line, key)
