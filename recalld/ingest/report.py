"""Collects what readers find wrong in one document."""

from __future__ import annotations

from dataclasses import dataclass, field

from recalld.model import Finding, Severity

MOST = 50
"""Findings kept of one document; a file with more has one fault, not hundreds."""


@dataclass(slots=True)
class Reporter:
    """Takes faults as readers meet them. Lines are 1-based lines of the document."""

    path: str
    findings: list[Finding] = field(default_factory=list)

    def error(self, code: str, message: str, hint: str, *, line: int | None = None, key: str | None = None) -> None:
        """Report something that costs the reader facts which the author meant to state."""
        self._add(Severity.ERROR, code, message, hint, line, key)

    def warning(self, code: str, message: str, hint: str, *, line: int | None = None, key: str | None = None) -> None:
        """Report something that was read, but perhaps not as meant."""
        self._add(Severity.WARNING, code, message, hint, line, key)

    def note(self, code: str, message: str, hint: str, *, line: int | None = None, key: str | None = None) -> None:
        """Report something that an author may want to know."""
        self._add(Severity.NOTE, code, message, hint, line, key)

    def _add(self, severity: Severity, code: str, message: str, hint: str, line: int | None, key: str | None) -> None:
        if len(self.findings) < MOST:
            self.findings.append(Finding("", self.path, code, severity, message, hint, line, key))
