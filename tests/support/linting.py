"""Memories on disk for lint, a few lines each."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import anyio

from recalld.lint.check import check, ordered
from recalld.lint.corpus import read_corpus
from recalld.model import Finding

NOW = datetime(2026, 8, 19, tzinfo=UTC)


def lint(root: Path, files: Mapping[str, str | bytes] | None = None, *, with_secrets: bool = True) -> list[Finding]:
    """Write the files, lint the directory, return what is found."""
    for path, text in (files or {}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text if isinstance(text, bytes) else text.encode())

    async def run() -> list[Finding]:
        corpus = await read_corpus(root, NOW)
        return ordered([*corpus.findings, *check(corpus.memory, with_secrets=with_secrets)])

    return anyio.run(run)


def told(findings: list[Finding]) -> list[tuple[str, str]]:
    """The codes with their files."""
    return [(finding.code, finding.path) for finding in findings]
