"""Python Enhancement Proposals: ``docs/*.md``, ``questions.json``, and ``edges.json`` with who superseded whom.

The questions become tasks of their own half each. Each supersession becomes a task of the category ``superseded``: the
title of the old proposal is asked for, and what replaced it in the end is the answer; those whose successor was itself
rejected or withdrawn are left out, for it replaced nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recalld.evaluate.importers import Document, Imported
from recalld.evaluate.tasks import Gold, Task

_NEVER_IN_FORCE = frozenset({"Rejected", "Withdrawn", "Deferred", "Draft"})


def read(source: Path) -> Imported:
    """Read such a folder."""
    files = sorted((source / "docs").glob("*.md"))
    documents = {path.name: Document(path.read_bytes().decode("utf-8")) for path in files}
    rows = json.loads((source / "questions.json").read_text("utf-8"))
    edges = json.loads((source / "edges.json").read_text("utf-8"))
    tasks = [_question(row) for row in rows]
    in_force = [edge for edge in edges if edge["new_status"] not in _NEVER_IN_FORCE]
    successors: dict[str, list[str]] = {}
    for edge in in_force:
        successors.setdefault(edge["old"], []).append(edge["new"])
    titles = {edge["old"]: edge["old_title"] for edge in in_force}
    tasks += [_superseded(old, titles[old], successors) for old in successors]
    left = len(edges) - len(in_force)
    return Imported(documents, tasks, [f"{left} supersessions by proposals that were never in force were left out"])


def _question(row: Mapping[str, Any]) -> Task:
    gold = tuple(Gold(path=f"{name.removesuffix('.rst')}.md") for name in row.get("relevant_files", ()))
    return Task(
        id=row["id"],
        query=row["query"],
        answerable=row["answerable"],
        gold=gold,
        category="question" if row["answerable"] else "off topic",
    )


def _superseded(old: str, title: str, successors: Mapping[str, list[str]]) -> Task:
    """Return the task of one old proposal; of several successors any is right."""
    stale, last = [old], list(successors[old])
    while further := [name for name in last if name in successors and name not in stale]:
        stale += further
        last = [*(name for name in last if name not in further), *(new for name in further for new in successors[name])]
    gold = tuple(Gold(path=f"{name}.md") for name in dict.fromkeys(last))
    return Task(
        id=f"superseded-{old}",
        query=title,
        gold=gold,
        stale=tuple(f"{name}.md" for name in stale),
        category="superseded",
    )
