"""Findings as SARIF 2.1.0 (OASIS), which code hosts show beside the changed lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from recalld import __version__
from recalld.lint.baseline import key_of
from recalld.lint.catalogue import CODES
from recalld.model import Finding, Severity

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def sarif(findings: Iterable[Finding]) -> dict[str, Any]:
    """Return findings as a SARIF log of one run; paths are relative to the directory that was linted."""
    found = list(findings)
    rules = [_rule(code) for code in sorted({finding.code for finding in found})]
    driver = {"name": "recall lint", "version": __version__, "rules": rules}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": list(map(_result, found))}],
    }


def _rule(name: str) -> dict[str, Any]:
    code = CODES.get(name)
    if code is None:
        return {"id": name}
    return {
        "id": name,
        "shortDescription": {"text": code.meaning},
        "help": {"text": code.fix},
        "defaultConfiguration": {"level": _LEVELS[code.severity]},
    }


def _result(finding: Finding) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": quote(finding.path, errors="replace")}}
    if finding.line:
        place["region"] = {"startLine": finding.line}
    return {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.message}. {finding.hint}".rstrip(". ") + "."},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"recallLint/v1": "|".join(key_of(finding))},
    }
