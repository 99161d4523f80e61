"""Reads a directory, or files of it, by the rules that watching has: the only part of lint that touches the disk."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from anyio import to_thread

from recalld.ingest.content import is_binary
from recalld.ingest.parse import Reading, read
from recalld.lint.catalogue import found
from recalld.lint.memory import Memory, is_note
from recalld.model import FileStat, Finding, Severity
from recalld.watch.disk import Problem, Root, too_large
from recalld.watch.ignore import Rules
from recalld.watch.scan import scan

MAX_FILE_BYTES = 8_388_608
"""Larger files are not read, as the watcher does not (``watch.max_file_bytes``)."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """A directory as read: what the rules look at, and what was wrong on the way."""

    memory: Memory
    findings: tuple[Finding, ...]


async def read_corpus(root: Path, now: datetime, *, max_bytes: int = MAX_FILE_BYTES) -> Corpus:
    """Read all files of a directory that would be watched. Raises RootGoneError when it cannot be listed.

    A file that cannot be read is a finding; the others are read.
    """
    opened = Root(root)
    await to_thread.run_sync(opened.open)
    walk = await scan(opened, Rules(root), now_ns=time.time_ns)
    findings = [_of_problem(problem) for problem in walk.problems]
    readings, faults = await to_thread.run_sync(_read_all, opened, walk.files, max_bytes)
    memory = Memory(readings, now, lambda path: os.path.exists(opened.full(path)))
    return Corpus(memory, (*findings, *faults))


def _read_all(root: Root, files: Mapping[str, FileStat], max_bytes: int) -> tuple[list[Reading], list[Finding]]:
    readings: list[Reading] = []
    findings: list[Finding] = []
    for path, stat in files.items():
        read_one = _read_one(root, path, stat, max_bytes)
        if isinstance(read_one, Reading):
            readings.append(read_one)
            findings += read_one.document.findings
        elif read_one is not None:
            findings.append(read_one)
    return readings, findings


def _read_one(root: Root, path: str, stat: FileStat, max_bytes: int) -> Reading | Finding | None:
    if stat.size > max_bytes:
        problem = too_large(path, stat.size, max_bytes)
        return found("oversized-file", path, problem.message, problem.hint)
    try:
        content = Path(root.full(path)).read_bytes()
    except OSError as error:
        return found("unreadable-file", path, f"cannot be read: {error.strerror or error}")
    if is_binary(content):
        message = "its name is that of a text, but it is binary"
        return found("unreadable-file", path, message, "exclude it in .recallignore") if is_note(path) else None
    return read(path, content)


def _of_problem(problem: Problem) -> Finding:
    """Return what the walk noticed under lint's names."""
    if problem.code == "unreadable":
        message = problem.message.partition(";")[0]
        return found("unreadable-file", problem.path, message, problem.hint)
    code = problem.code.replace("_", "-")
    severity = Severity(problem.severity)
    return Finding("", problem.path, code, severity, problem.message, problem.hint)


def only(findings: Iterable[Finding], paths: frozenset[str]) -> list[Finding]:
    """Return the findings of some files alone."""
    return [finding for finding in findings if finding.path in paths]
