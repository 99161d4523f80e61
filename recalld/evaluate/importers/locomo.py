"""LoCoMo: very long conversations in sessions, with questions and the turns that are their evidence (Maharana et al.,
2024).

A session is a document and a turn is a line of it. A question is bound to its own conversation. Those of category 5
ask about something that the other speaker did: the passages that show the false premise are there and are their gold,
so they are counted apart, for telling a false premise takes reading what a memory only serves.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recalld.evaluate.importers import Document, Imported, file_name
from recalld.evaluate.tasks import Gold, Task

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_TURN = re.compile(r"D(\d+):(\d+)")
_FALSE_PREMISE = "it has a false premise: its evidence is to be found, and telling so takes reading it"


def read(source: Path) -> Imported:
    """Read one JSON file of conversations."""
    documents: dict[str, Document] = {}
    tasks: list[Task] = []
    without = 0
    for sample in json.loads(source.read_text("utf-8")):
        folder = file_name(sample["sample_id"])
        lines: dict[str, Gold] = {}
        for path, document, turns in _sessions(sample["conversation"], folder):
            documents[path] = document
            lines |= {turn: Gold(path=path, lines=(line, line)) for turn, line in turns.items()}
        for number, row in enumerate(sample["qa"], start=1):
            task = _task(row, f"{folder}-{number}", folder, lines)
            tasks.append(task)
            without += not task.gold
    notes = [f"{without} questions name no turn as evidence and are counted apart"] if without else []
    return Imported(documents, tasks, notes)


def _sessions(conversation: Mapping[str, Any], folder: str) -> Iterator[tuple[str, Document, dict[str, int]]]:
    numbers = sorted(int(key.removeprefix("session_")) for key in conversation if re.fullmatch(r"session_\d+", key))
    for number in numbers:
        when = conversation.get(f"session_{number}_date_time", "")
        lines = [f"# Conversation on {when}" if when else f"# Conversation {number}", ""]
        turns: dict[str, int] = {}
        for turn in conversation[f"session_{number}"]:
            caption = f" [shows {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            lines.append(f"{turn['speaker']}: {' '.join(turn['text'].split())}{caption}")
            turns[turn["dia_id"]] = len(lines)
            lines.append("")
        yield f"{folder}/session-{number:02}.md", Document("\n".join(lines), _time(when)), turns


def _task(row: Mapping[str, Any], id_: str, folder: str, lines: Mapping[str, Gold]) -> Task:
    named = [f"D{int(a)}:{int(b)}" for text in row.get("evidence", ()) for a, b in _TURN.findall(text)]
    gold = tuple(lines[turn] for turn in dict.fromkeys(named) if turn in lines)
    category = CATEGORIES.get(row["category"], str(row["category"]))
    unserved = _FALSE_PREMISE if row["category"] == 5 else "" if gold else "it names no evidence"
    return Task(id=id_, query=row["question"], gold=gold, scope=f"{folder}/*", category=category, unserved=unserved)


def _time(text: str) -> datetime | None:
    """Read ``1:56 pm on 8 May, 2023``."""
    try:
        return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    except ValueError:
        return None
