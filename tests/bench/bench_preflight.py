"""Lessons before risky acts: which fire when they should, which when they should not, and how long that takes.

48 lessons of a made-up company, two risky acts for each, and 160 benign ones of which 70 sound alike
(``tests/data/preflight``, written by somebody who did not know how matching works). Settings were chosen on ``tune``.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from recalld.ingest.parse import read
from recalld.lessons.guardrail import Action, Guardrail
from recalld.lessons.match import Matcher
from tests.bench.figure import Figure, median, report

DATA = Path(__file__).parents[1] / "data" / "preflight"
RECALL_BAR, FALSE_BAR = 0.9, 0.03
SPEEDS = ((500, 0.5), (5_000, 2.0))


def guardrails() -> list[Guardrail]:
    """Return the lessons of the set."""
    found = []
    for path in sorted((DATA / "lessons").glob("*.md")):
        reading = read(f"lessons/{path.name}", path.read_bytes())
        front = reading.front.values
        body = "\n".join(reading.lines.all[reading.front.last :])
        scope = front.get("scope") or ()
        found.append(
            Guardrail(
                f"lessons/{path.name}", reading.document.title, str(front["check"]), body, tuple(front.get("tags", ())),
                (scope,) if isinstance(scope, str) else tuple(scope),
            )
        )  # fmt: skip
    return found


def acts(name: str, half: str) -> list[Mapping[str, Any]]:
    """Return the acts of a file that are of one half, by a fixed hash of their ids."""
    rows = [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]
    return [row for row in rows if half == ("report" if hashlib.sha256(row["id"].encode()).digest()[0] % 2 else "tune")]


def action_of(row: Mapping[str, Any]) -> Action:
    """Return what an act of the set is."""
    given = {key: value or "" for key, value in row["action"].items()}
    return Action(given["text"], given["tool"], given["path"], given["command"])


def recalled(matcher: Matcher, half: str) -> list[bool]:
    """Tell of each risky act whether its lesson fires."""
    return [
        row["lesson"] in {one.guardrail.id for one in matcher.match(action_of(row))}
        for row in acts("risky.jsonl", half)
    ]


def false_fires(matcher: Matcher, half: str) -> list[bool]:
    """Tell of each benign act whether anything fires."""
    return [bool(matcher.match(action_of(row))) for row in acts("benign.jsonl", half)]


async def measure() -> list[Figure]:
    """Match all acts, and time them among many lessons."""
    matcher = Matcher(guardrails())
    figures: list[Figure] = []
    for half in ("tune", "report"):
        good, bad = recalled(matcher, half), false_fires(matcher, half)
        share, false = sum(good) / len(good), sum(bad) / len(bad)
        barred = half == "report"
        figures += [
            Figure(f"risky acts whose lesson fires, {half}", share, "", f"{sum(good)} of {len(good)}",
                   f">= {RECALL_BAR}" if barred else "", share >= RECALL_BAR if barred else None),
            Figure(f"benign acts on which anything fires, {half}", false, "", f"{sum(bad)} of {len(bad)}",
                   f"<= {FALSE_BAR}" if barred else "", false <= FALSE_BAR if barred else None),
        ]  # fmt: skip
    return figures + [_speed(count, bar) for count, bar in SPEEDS]


def _speed(count: int, bar: float) -> Figure:
    matcher = Matcher(_many(guardrails(), count))
    actions = [action_of(row) for name in ("risky.jsonl", "benign.jsonl") for row in acts(name, "tune")]
    times = []
    for action in actions * 5:
        begun = time.perf_counter()
        matcher.match(action)
        times.append((time.perf_counter() - begun) * 1e3)
    took = median(times)
    return Figure(f"matching an act with {count:,} lessons, p50", took, "ms", "", f"<= {bar:g}", took <= bar)


def _many(known: Sequence[Guardrail], count: int) -> list[Guardrail]:
    """Return so many lessons: those of the set, and others that each mix the words of two of them."""
    made = list(known)
    while len(made) < count:
        one, other = known[len(made) % len(known)], known[(len(made) * 7 + len(made) // len(known)) % len(known)]
        text = " ".join([*one.text.split()[::2], *other.text.split()[1::2], f"variant{len(made)}"])
        made.append(Guardrail(f"lessons/{len(made)}.md", f"{one.title} {len(made)}", other.check, text, one.tags))
    return made


if __name__ == "__main__":
    report(measure)
