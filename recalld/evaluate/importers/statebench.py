"""StateBench: timelines of facts with their time, scope and supersession, and what an answer must and must not mention.

Each timeline is a folder, each fact a document with the frontmatter that an author would write: since when it holds,
and what it supersedes. A query is bound to its timeline and asked at its own time. What must be mentioned and stands in
no fact cannot be recalled (it is to be concluded); it is left out and counted. What was only said in conversation is no
fact. Tracks that ask for more than a memory of documents does are run and counted apart, each with the reason.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recalld.evaluate.importers import Document, Imported, file_name
from recalld.evaluate.tasks import Gold, Task

_READERS = "who may read a fact is told by its text; here repos name their readers, and passages do not"
UNSERVED = {
    "scope_permission": _READERS,
    "enterprise_privacy": _READERS,
    "scope_leak": "that an exercise has ended is said in conversation alone",
    "supersession_detection": "that a fact was superseded is to be concluded from conversation; no author declared it",
    "interruption_resumption": "what interrupted is said in conversation alone",
    "authority_hierarchy": "whose word weighs more is to be concluded by who reads",
}
"""Tracks that are not expected of a memory of documents, and why."""
_CONCLUDED = "what must be mentioned stands in no fact: it is to be concluded"


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of a timeline, with the document that it becomes."""

    path: str
    key: str
    value: str
    at: datetime
    supersedes: str = ""

    @property
    def text(self) -> str:
        """Return the document."""
        superseded = f"supersedes: {self.supersedes}\n" if self.supersedes else ""
        title = self.key.replace("_", " ")
        return f"---\nvalid_from: {self.at.isoformat()}\n{superseded}---\n# {title}\n\n{self.value}\n"


def read(source: Path) -> Imported:
    """Read a JSONL file of timelines."""
    documents: dict[str, Document] = {}
    tasks: list[Task] = []
    unsaid: Counter[str] = Counter()
    with source.open(encoding="utf-8") as file:
        for timeline in (json.loads(line) for line in file if line.strip()):
            facts = list(_facts(timeline))
            documents |= {fact.path: Document(fact.text, fact.at) for fact in facts}
            for task, dropped in _tasks(timeline, facts):
                tasks.append(task)
                unsaid["texts"] += dropped
                unsaid["tasks"] += bool(dropped)
    note = f"{unsaid['texts']} texts of {unsaid['tasks']} tasks stand in no fact and are not required"
    return Imported(documents, tasks, [note])


def _facts(timeline: Mapping[str, Any]) -> Iterator[Fact]:
    """Yield the facts in the order of time, each with the path of what it supersedes in its own timeline."""
    folder = file_name(timeline["id"])
    named: dict[str, str] = {}
    for number, (row, at, replaces_key) in enumerate(_written(timeline), start=1):
        path = f"{folder}/{number:02}-{file_name(row['key'])}.md"
        replaced = named.get(row.get("supersedes") or "", "") or (named.get(row["key"], "") if replaces_key else "")
        yield Fact(path, row["key"], row["value"], at, replaced)
        for name in (row["key"], row.get("id")):
            if name and name != "W-AUTO":
                named[name] = path


def _written(timeline: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], datetime, bool]]:
    """Yield facts with their time, and whether one takes the place of the one before it under the same key."""
    state = timeline["initial_state"]
    start = state["environment"]["now"]
    for fact in state["persistent_facts"]:
        yield fact, _time(fact.get("ts") or start), False
    for number, item in enumerate(state["working_set"], start=1):
        yield {"key": f"working_note_{number}", "value": item["content"]}, _time(item.get("ts") or start), False
    for key, value in state["environment"].items():
        if key != "now":
            yield {"key": key, "value": str(value)}, _time(start), True
    for event in timeline["events"]:
        for row in event.get("writes", ()):
            yield row, _time(event["ts"]), row["layer"] == "environment"


def _tasks(timeline: Mapping[str, Any], facts: Sequence[Fact]) -> Iterator[tuple[Task, int]]:
    """Yield the queries as tasks, each with how many texts it may not require."""
    folder, track = file_name(timeline["id"]), timeline["track"]
    queries = [event for event in timeline["events"] if event["type"] == "query"]
    for number, event in enumerate(queries, start=1):
        truth, at = event["ground_truth"], _time(event["ts"])
        known = [fact for fact in facts if fact.at <= at]
        replaced = {fact.supersedes for fact in known if fact.supersedes}
        valid = [fact for fact in known if fact.path not in replaced]
        wanted = [text for text in truth["must_mention"] if any(_says(fact, text) for fact in valid)]
        gold = [fact for fact in valid if any(_says(fact, text) for text in wanted)]
        task = Task(
            id=f"{folder}-{number}",
            query=event["prompt"],
            gold=tuple(Gold(path=fact.path) for fact in gold),
            stale=tuple(sorted(replaced)),
            required=tuple(wanted),
            forbidden=tuple(truth["must_not_mention"]),
            as_of=at,
            scope=f"{folder}/*",
            category=track,
            unserved=UNSERVED.get(track, "") or ("" if gold or truth["must_not_mention"] else _CONCLUDED),
        )
        yield task, len(truth["must_mention"]) - len(wanted)


def _says(fact: Fact, text: str) -> bool:
    return text.casefold() in fact.value.casefold()


def _time(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
